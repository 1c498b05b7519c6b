// These functions replace those of the C library for the whole process. They count and call the originals.
#define _GNU_SOURCE
#include "AllocationCounter.h"
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int isOn;
static atomic_llong allocations, locks;

void countAllocations(int on) {
  allocations = 0;
  locks = 0;
  isOn = on;
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_ALLOCATOR_OF_ITS_OWN
#endif
#endif

#if defined(__GLIBC__) && !defined(HAS_ALLOCATOR_OF_ITS_OWN)
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
static int (*realLock)(pthread_mutex_t *);

static void count(atomic_llong *counter) {
  if (atomic_load_explicit(&isOn, memory_order_relaxed)) {
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
  }
}

void *malloc(size_t size) {
  count(&allocations);
  return __libc_malloc(size);
}
void *calloc(size_t number, size_t size) {
  count(&allocations);
  return __libc_calloc(number, size);
}
void *realloc(void *memory, size_t size) {
  count(&allocations);
  return __libc_realloc(memory, size);
}
void *aligned_alloc(size_t alignment, size_t size) {
  count(&allocations);
  return __libc_memalign(alignment, size);
}
int posix_memalign(void **result, size_t alignment, size_t size) {
  count(&allocations);
  void *memory = __libc_memalign(alignment, size);
  if (!memory) return ENOMEM;
  *result = memory;
  return 0;
}
int pthread_mutex_lock(pthread_mutex_t *mutex) {
  count(&locks);
  if (!realLock) realLock = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_lock");
  return realLock(mutex);
}

int64_t allocationCount(void) { return allocations; }
int64_t lockCount(void) { return locks; }
int64_t heapBytes(void) {
#if __GLIBC_PREREQ(2, 33)
  struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
#else
  return -1;
#endif
}
#else
int64_t allocationCount(void) { return -1; }
int64_t lockCount(void) { return -1; }
int64_t heapBytes(void) { return -1; }
#endif
