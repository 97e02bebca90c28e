// Loaded into a program (LD_PRELOAD), this kills it at the n-th thing that it does to files below a folder:
// KILL_BELOW names the folder, KILL_AT is n. Of a write half is done first. Counted are files made, space
// asked for, writes, syncs, renames, folders made and names removed, of all threads. Without KILL_AT
// everything is done, and the file that KILL_LIST names gets a letter for each.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { kMost = 1 << 20 };
static atomic_long count;
static char kinds[kMost];

static int isBelow(const char *path) {
  const char *folder = getenv("KILL_BELOW");
  return folder && path && strncmp(path, folder, strlen(folder)) == 0;
}
static int isOpenBelow(int fd) {
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t size = readlink(link, path, sizeof path - 1);
  if (size < 0)
    return 0;
  path[size] = 0;
  return isBelow(path);
}
// Whether this is the operation that never ends.
static int isLast(char kind) {
  const char *at = getenv("KILL_AT");
  long number = atomic_fetch_add(&count, 1) + 1;
  if (number <= kMost)
    kinds[number - 1] = kind;
  return at && number == atol(at);
}
static void die(void) {
  kill(getpid(), SIGKILL);
  for (;;)
    pause();
}
static void maybeDie(int concerns, char kind) {
  if (concerns && isLast(kind))
    die();
}

__attribute__((destructor)) static void tell(void) {
  const char *path = getenv("KILL_LIST");
  FILE *file = path ? fopen(path, "w") : NULL;
  if (!file)
    return;
  fwrite(kinds, 1, count < kMost ? (size_t)count : kMost, file);
  fclose(file);
}

#define REAL(NAME) ((__typeof__(&NAME))dlsym(RTLD_NEXT, #NAME))

int open(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  maybeDie((flags & O_CREAT) && isBelow(path), 'c');
  return REAL(open)(path, flags, mode);
}
int open64(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return open(path, flags, mode);
}
ssize_t pwrite(int fd, const void *data, size_t bytes, off_t offset) {
  if (isOpenBelow(fd) && isLast('w')) {
    REAL(pwrite)(fd, data, bytes / 2, offset);
    die();
  }
  return REAL(pwrite)(fd, data, bytes, offset);
}
ssize_t pwrite64(int fd, const void *data, size_t bytes, off_t offset) {
  return pwrite(fd, data, bytes, offset);
}
int fallocate(int fd, int mode, off_t offset, off_t length) {
  maybeDie(isOpenBelow(fd), 'a');
  return REAL(fallocate)(fd, mode, offset, length);
}
int fallocate64(int fd, int mode, off_t offset, off_t length) { return fallocate(fd, mode, offset, length); }
int fsync(int fd) {
  maybeDie(isOpenBelow(fd), 's');
  return REAL(fsync)(fd);
}
int rename(const char *from, const char *to) {
  maybeDie(isBelow(to), 'r');
  return REAL(rename)(from, to);
}
int mkdir(const char *path, mode_t mode) {
  maybeDie(isBelow(path), 'm');
  return REAL(mkdir)(path, mode);
}
int remove(const char *path) {
  maybeDie(isBelow(path), 'u');
  return REAL(remove)(path);
}
int unlink(const char *path) {
  maybeDie(isBelow(path), 'u');
  return REAL(unlink)(path);
}
int rmdir(const char *path) {
  maybeDie(isBelow(path), 'u');
  return REAL(rmdir)(path);
}
// Two names exchanged: the runtime has no function for it.
long syscall(long number, ...) {
  long a[6];
  va_list rest;
  va_start(rest, number);
  for (int i = 0; i < 6; ++i)
    a[i] = va_arg(rest, long);
  va_end(rest);
  if (number == SYS_renameat2)
    maybeDie(isBelow((const char *)a[3]), 'r');
  return ((long (*)(long, ...))dlsym(RTLD_NEXT, "syscall"))(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
