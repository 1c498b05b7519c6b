#ifndef ALLOCATION_COUNTER_H
#define ALLOCATION_COUNTER_H

#include <stdint.h>

/// Counts from here on, from zero, or no longer. It costs time, so it is off while time is measured.
void countAllocations(int on);
/// Calls of malloc, calloc, realloc, posix_memalign and aligned_alloc in the whole process; -1 where they cannot be counted.
int64_t allocationCount(void);
/// Calls of pthread_mutex_lock in the whole process; -1 where they cannot be counted.
int64_t lockCount(void);
/// Bytes of the heap that are in use, as the allocator says; -1 where it does not.
int64_t heapBytes(void);

#endif
