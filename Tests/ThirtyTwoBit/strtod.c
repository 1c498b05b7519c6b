// What `Double(text)` calls in the standard library, which has no such function for this processor.
#include <stdlib.h>

const char *_swift_stdlib_strtod_clocale(const char *text, double *result) {
  char *end;
  *result = strtod(text, &end);
  return end;
}
