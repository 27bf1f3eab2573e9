/* goodput.h: reports the progress of a training program (C, C++) to slurm-goodput.
 *
 *   #include <slurm-goodput/goodput.h>
 *
 *   goodput_restore_begin(-1);
 *   step = load();
 *   goodput_restore_end(step);
 *   while (++step <= steps) {
 *     goodput_step(step);
 *     train(step);
 *     if (step % 100 == 0) {
 *       goodput_checkpoint_begin(step);
 *       save(step);
 *       goodput_checkpoint_end(step);
 *     }
 *   }
 *
 * C99 and C++, this one file, nothing to link. Linux, GCC or Clang.
 *
 * A mark costs a few microseconds and never fails the program. It does nothing outside a Slurm job, if the
 * job sets GOODPUT=off, and on ranks other than 0 (SLURM_PROCID, RANK), unless GOODPUT_RANKS=all is set. If
 * goodputd does not listen or does not accept the mark within 5 ms, the mark is dropped and counted. Every
 * function may be called from any thread, after a fork and from a signal handler, and preserves errno.
 */
#ifndef SLURM_GOODPUT_GOODPUT_H_
#define SLURM_GOODPUT_GOODPUT_H_

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/un.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#elif defined(__STRICT_ANSI__)
/* Strict C99 hides this declaration. All system calls go through it: unlike libc's wrappers, syscall() is no
 * cancellation point, and a thread cancelled while it holds the lock would never release it. */
extern long syscall(long number, ...);
#endif

/* The longest time for one mark, and the pause after the daemon was absent or did not read. */
#define GOODPUT_WAIT_NS_ 5000000LL
#define GOODPUT_BACKOFF_NS_ 1000000000LL
#define GOODPUT_NAME_BYTES_ 128
#define GOODPUT_MAX_STEP_ (1LL << 53)
#define GOODPUT_MAX_WORLD_ (1LL << 24)
/* An abstract name is valid in one network namespace; from another one, only a path reaches the daemon. */
#define GOODPUT_SOCKET_ "@goodput"
#define GOODPUT_SOCKET_PATH_ "/run/slurm-goodput/mark.sock"

/* One per process: all files that include this header share it. The lock protects all members that are not
 * atomic. */
struct goodput_client_ {
  unsigned long long lock;    /* process << 32 | thread that holds it; 0: free. Atomic. */
  unsigned long long dropped; /* Atomic. */
  int silent;                 /* The process that reports nothing. Atomic. */
  int process;                /* the process that the members below belong to */
  int connected;
  int fd;
  dev_t device; /* of the socket: the program may close our descriptor and reuse its number */
  ino_t inode;
  long long retry_ns; /* do not connect before */
  long long wait_ns;  /* do not wait for room before */
  size_t identity_size;
  char identity[1280]; /* the end of every message: job, step, task and node */
};
__attribute__((weak)) struct goodput_client_ goodput_client_;

static inline long long goodput_now_(void) {
  struct {
    long seconds, nanoseconds;
  } now = {0, 0};
  syscall(SYS_clock_gettime, 1 /* CLOCK_MONOTONIC */, &now);
  return now.seconds * 1000000000LL + now.nanoseconds;
}

/* --- text */

struct goodput_text_ {
  char* bytes;
  size_t size, capacity;
};

static inline void goodput_put_(struct goodput_text_* text, const char* what, size_t size) {
  if (size > text->capacity - text->size) return;
  memcpy(text->bytes + text->size, what, size);
  text->size += size;
}

static inline void goodput_puts_(struct goodput_text_* text, const char* what) {
  goodput_put_(text, what, strlen(what));
}

static inline void goodput_put_number_(struct goodput_text_* text, long long number) {
  char digits[24];
  size_t at = sizeof(digits);
  const int negative = number < 0;
  unsigned long long rest = negative ? 0ULL - (unsigned long long)number : (unsigned long long)number;
  do {
    digits[--at] = (char)('0' + (int)(rest % 10));
    rest /= 10;
  } while (rest != 0);
  if (negative) digits[--at] = '-';
  goodput_put_(text, digits + at, sizeof(digits) - at);
}

/* The size in bytes of the valid UTF-8 sequence at `at`; 0 if there is none. */
static inline size_t goodput_utf8_(const unsigned char* at) {
  static const unsigned long least[5] = {0, 0, 0x80, 0x800, 0x10000};
  const size_t size = at[0] < 0x80   ? 1
                      : at[0] < 0xC0 ? 0
                      : at[0] < 0xE0 ? 2
                      : at[0] < 0xF0 ? 3
                      : at[0] < 0xF8 ? 4
                                     : 0;
  unsigned long code = size < 2 ? at[0] : at[0] & (0xFFU >> (size + 1));
  size_t i;
  for (i = 1; i < size; ++i) {
    if ((at[i] & 0xC0) != 0x80) return 0;
    code = code << 6 | (at[i] & 0x3FU);
  }
  return size > 1 && (code < least[size] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) ? 0 : size;
}

/* Appends a JSON string, truncated between characters to at most GOODPUT_NAME_BYTES_ bytes when decoded. */
static inline void goodput_put_quoted_(struct goodput_text_* text, const char* what) {
  static const char hex[] = "0123456789abcdef";
  const unsigned char* at = (const unsigned char*)what;
  size_t kept = 0;
  goodput_put_(text, "\"", 1);
  while (*at != 0) {
    const size_t valid = goodput_utf8_(at);
    const size_t size = valid == 0 ? 1 : valid;
    kept += valid == 0 ? 2 : valid; /* an invalid byte is sent as U+0080 to U+00FF: two bytes */
    if (kept > GOODPUT_NAME_BYTES_) break;
    if (valid == 0 || *at < 0x20 || *at == 0x7F) {
      char escaped[6] = {'\\', 'u', '0', '0', '0', '0'};
      escaped[4] = hex[*at >> 4];
      escaped[5] = hex[*at & 15];
      goodput_put_(text, escaped, sizeof(escaped));
    } else {
      if (*at == '"' || *at == '\\') goodput_put_(text, "\\", 1);
      goodput_put_(text, (const char*)at, size);
    }
    at += size;
  }
  goodput_put_(text, "\"", 1);
}

/* --- job, step, task and node */

/* -1: not set, or not a number. */
static inline long long goodput_env_number_(const char* name) {
  const char* text = getenv(name);
  char* end = NULL;
  long long number;
  if (text == NULL || *text < '0' || *text > '9') return -1;
  number = strtoll(text, &end, 10);
  return *end == 0 ? number : -1;
}

/* Whether this process reports: rank 0 does, for the whole job. Launchers that start several processes per
 * task set ranks of their own. */
static inline int goodput_speaks_(void) {
  const char* on = getenv("GOODPUT");
  const char* ranks = getenv("GOODPUT_RANKS");
  if (goodput_env_number_("SLURM_JOB_ID") <= 0 || (on != NULL && strcmp(on, "off") == 0)) return 0;
  if (ranks != NULL && strcmp(ranks, "all") == 0) return 1;
  return goodput_env_number_("SLURM_PROCID") <= 0 && goodput_env_number_("RANK") <= 0 &&
         goodput_env_number_("OMPI_COMM_WORLD_RANK") <= 0;
}

/* Slurm's task. Ranks that report separately need numbers of their own. */
static inline long long goodput_task_(void) {
  const char* ranks = getenv("GOODPUT_RANKS");
  long long rank = -1;
  if (ranks != NULL && strcmp(ranks, "all") == 0) {
    rank = goodput_env_number_("RANK");
    if (rank < 0) rank = goodput_env_number_("OMPI_COMM_WORLD_RANK");
  }
  return rank >= 0 ? rank : goodput_env_number_("SLURM_PROCID");
}

static inline void goodput_read_identity_(struct goodput_client_* client) {
  struct goodput_text_ text;
  const long long step = goodput_env_number_("SLURM_STEP_ID");
  const long long task = goodput_task_();
  const char* node = getenv("SLURMD_NODENAME");
  text.bytes = client->identity;
  text.size = 0;
  text.capacity = sizeof(client->identity);
  goodput_puts_(&text, ",\"job\":");
  goodput_put_number_(&text, goodput_env_number_("SLURM_JOB_ID"));
  goodput_puts_(&text, ",\"slurm_step\":\"");
  /* A batch script has no step id, or a special one, depending on the release. */
  if (step >= 0 && step < 0xFFFFFFF0LL) {
    goodput_put_number_(&text, step);
  } else {
    goodput_puts_(&text, "batch");
  }
  goodput_puts_(&text, "\"");
  if (task >= 0) {
    goodput_puts_(&text, ",\"task\":");
    goodput_put_number_(&text, task);
  }
  if (node != NULL && *node != 0) {
    goodput_puts_(&text, ",\"node\":");
    goodput_put_quoted_(&text, node);
  }
  goodput_puts_(&text, "}");
  client->identity_size = text.size;
}

/* --- the connection */

/* A program that becomes a daemon closes every descriptor; the number may then belong to another file. */
static inline int goodput_is_ours_(const struct goodput_client_* client) {
  struct stat info;
  return fstat(client->fd, &info) == 0 && info.st_dev == client->device && info.st_ino == client->inode;
}

static inline void goodput_disconnect_(struct goodput_client_* client) {
  if (client->connected && goodput_is_ours_(client)) syscall(SYS_close, client->fd);
  client->connected = 0;
}

static inline int goodput_connect_to_(struct goodput_client_* client, const char* name) {
  struct sockaddr_un address;
  struct stat info;
  const size_t size = strlen(name);
  const int abstract = name[0] == '@';
  int fd;
  if (size == 0 || size >= sizeof(address.sun_path)) return 0;
  memset(&address, 0, sizeof(address));
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path, name, size);
  if (abstract) address.sun_path[0] = 0;
  fd = (int)syscall(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return 0;
  /* The length of an abstract name excludes the NUL, that of a path includes it. */
  if (syscall(SYS_connect, fd, &address,
              offsetof(struct sockaddr_un, sun_path) + size + (abstract ? 0 : 1)) != 0 ||
      fstat(fd, &info) != 0) {
    syscall(SYS_close, fd);
    return 0;
  }
  client->fd = fd;
  client->device = info.st_dev;
  client->inode = info.st_ino;
  client->connected = 1;
  return 1;
}

static inline int goodput_connect_(struct goodput_client_* client, long long now) {
  const char* name = getenv("GOODPUT_SOCKET");
  const char* path = getenv("GOODPUT_SOCKET_PATH");
  if (now < client->retry_ns) return 0;
  if (name == NULL || *name == 0) name = GOODPUT_SOCKET_;
  if (path == NULL || *path == 0) path = GOODPUT_SOCKET_PATH_;
  client->retry_ns = now + GOODPUT_BACKOFF_NS_;
  return goodput_connect_to_(client, name) || (name[0] == '@' && goodput_connect_to_(client, path));
}

static inline int goodput_try_(const struct goodput_client_* client, const struct goodput_text_* message) {
  return syscall(SYS_sendto, client->fd, message->bytes, message->size, MSG_DONTWAIT | MSG_NOSIGNAL, NULL,
                 0) >= 0;
}

/* Waits until `deadline` for room in the socket. After a failure it does not wait for GOODPUT_BACKOFF_NS_. */
static inline int goodput_try_patiently_(struct goodput_client_* client, const struct goodput_text_* message,
                                         long long now, long long deadline) {
  struct pollfd writable;
  struct {
    long seconds, nanoseconds;
  } left = {0, 0};
  if (goodput_try_(client, message)) return 1;
  if ((errno != EAGAIN && errno != ENOBUFS && errno != EINTR) || now < client->wait_ns) return 0;
  left.nanoseconds = deadline > now ? (long)(deadline - now) : 0;
  writable.fd = client->fd;
  writable.events = POLLOUT;
  writable.revents = 0;
  syscall(SYS_ppoll, &writable, 1, &left, NULL, (size_t)8);
  if (goodput_try_(client, message)) return 1;
  client->wait_ns = now + GOODPUT_BACKOFF_NS_;
  return 0;
}

static inline int goodput_deliver_(struct goodput_client_* client, const struct goodput_text_* message,
                                   long long now, long long deadline) {
  int fresh = 0;
  if (client->connected && !goodput_is_ours_(client)) client->connected = 0;
  if (!client->connected) {
    fresh = 1;
    if (!goodput_connect_(client, now)) return 0;
  }
  if (goodput_try_patiently_(client, message, now, deadline)) return 1;
  if (errno == EAGAIN || errno == ENOBUFS || errno == EINTR) return 0;
  /* The daemon has stopped or was restarted. */
  goodput_disconnect_(client);
  return !fresh && goodput_connect_(client, now) && goodput_try_patiently_(client, message, now, deadline);
}

/* --- one mark */

/* In a child that was forked while another thread held the lock, the lock counts as free. A signal handler
 * does not wait for the thread that it interrupted. */
static inline int goodput_lock_(struct goodput_client_* client, unsigned long long own, long long deadline) {
  while (1) {
    unsigned long long holder = __atomic_load_n(&client->lock, __ATOMIC_RELAXED);
    if (holder == 0 || holder >> 32 != own >> 32) {
      if (__atomic_compare_exchange_n(&client->lock, &holder, own, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return 1;
      continue;
    }
    if (holder == own || goodput_now_() > deadline) return 0;
    syscall(SYS_sched_yield);
  }
}

static inline void goodput_drop_(void) {
  __atomic_add_fetch(&goodput_client_.dropped, 1, __ATOMIC_RELAXED);
}

/* `step`: negative if unknown. `name`: of a phase, otherwise null. `more`: further members, or empty.
 * `valid`: 0 drops and counts the mark. */
static inline void goodput_mark_with_(const char* mark, const char* edge, long long step, const char* name,
                                      const char* more, int valid) {
  struct goodput_client_* client = &goodput_client_;
  const int saved_errno = errno;
  const int process = (int)getpid();
  char bytes[2560];
  struct goodput_text_ message;
  long long now;
  unsigned long long own;
  int sent = 1;
  if (__atomic_load_n(&client->silent, __ATOMIC_RELAXED) == process) return;
  now = goodput_now_();
  own = (unsigned long long)process << 32 | (unsigned long long)(unsigned)syscall(SYS_gettid);
  if (!goodput_lock_(client, own, now + GOODPUT_WAIT_NS_)) {
    goodput_drop_();
    errno = saved_errno;
    return;
  }
  if (client->process != process) {
    if (client->process != 0) goodput_disconnect_(client);
    client->process = process;
    client->retry_ns = client->wait_ns = 0;
    goodput_read_identity_(client);
    if (!goodput_speaks_()) __atomic_store_n(&client->silent, process, __ATOMIC_RELAXED);
  }
  if (__atomic_load_n(&client->silent, __ATOMIC_RELAXED) != process) {
    message.bytes = bytes;
    message.size = 0;
    message.capacity = sizeof(bytes);
    goodput_puts_(&message, "{\"v\":1,\"mark\":\"");
    goodput_puts_(&message, mark);
    goodput_puts_(&message, "\",\"edge\":\"");
    goodput_puts_(&message, edge);
    goodput_puts_(&message, "\"");
    if (step >= 0) {
      goodput_puts_(&message, ",\"train_step\":");
      goodput_put_number_(&message, step);
    }
    if (name != NULL) {
      goodput_puts_(&message, ",\"name\":");
      goodput_put_quoted_(&message, name);
    }
    goodput_puts_(&message, more);
    goodput_puts_(&message, ",\"m\":");
    goodput_put_number_(&message, now);
    goodput_put_(&message, client->identity, client->identity_size);
    sent =
        valid && step <= GOODPUT_MAX_STEP_ && goodput_deliver_(client, &message, now, now + GOODPUT_WAIT_NS_);
  }
  __atomic_store_n(&client->lock, 0ULL, __ATOMIC_RELEASE);
  if (!sent) goodput_drop_();
  errno = saved_errno;
}

static inline void goodput_mark_(const char* mark, const char* edge, long long step, const char* name,
                                 int valid) {
  goodput_mark_with_(mark, edge, step, name, "", valid);
}

/* Negative: not given. */
static inline int goodput_is_world_(long long stepping, long long wanted, long long spares,
                                    long long tokens) {
  return stepping >= 1 && stepping <= GOODPUT_MAX_WORLD_ &&
         (wanted < 0 || (wanted >= stepping && wanted <= GOODPUT_MAX_WORLD_)) &&
         spares <= GOODPUT_MAX_WORLD_ && tokens != 0 && tokens <= GOODPUT_MAX_STEP_;
}

/* --- public functions */

/* Training step `step` begins, which ends the previous one. `step` is not negative and is numbered as in
 * checkpoints. */
static inline void goodput_step(long long step) {
  goodput_mark_("step", "begin", step, NULL, step >= 0);
}

/* Step `step` failed and is tried again: its time until now is lost work. */
static inline void goodput_step_failed(long long step) {
  goodput_mark_("step", "end", step, "failed", step >= 0);
}

/* A save of the state after `step` begins, or is complete (on disk, not only queued). Negative if the step is
 * not known. */
static inline void goodput_checkpoint_begin(long long step) {
  goodput_mark_("checkpoint", "begin", step, NULL, 1);
}
static inline void goodput_checkpoint_end(long long step) {
  goodput_mark_("checkpoint", "end", step, NULL, 1);
}

/* Loading the checkpoint of `step` begins, or is complete. Negative if the step is not known. */
static inline void goodput_restore_begin(long long step) {
  goodput_mark_("restore", "begin", step, NULL, 1);
}
static inline void goodput_restore_end(long long step) {
  goodput_mark_("restore", "end", step, NULL, 1);
}

/* Any other phase: "init", "data_loading", "compile", "evaluation" or your own name, at most 128 bytes. */
static inline void goodput_phase_begin(const char* name) {
  goodput_mark_("phase", "begin", -1, name, name != NULL && *name != 0);
}
static inline void goodput_phase_end(const char* name) {
  goodput_mark_("phase", "end", -1, name, name != NULL && *name != 0);
}

/* An elastic program: from now on `stepping` GPUs train (GPUs, not processes or nodes), of `wanted`.
 * `spares`: how many more wait to replace one. `tokens`: that one step trains, or samples. Negative: not
 * given. */
static inline void goodput_world(long long stepping, long long wanted, long long spares, long long tokens) {
  char bytes[256];
  struct goodput_text_ more;
  more.bytes = bytes;
  more.size = 0;
  more.capacity = sizeof(bytes) - 1;
  goodput_puts_(&more, ",\"world\":");
  goodput_put_number_(&more, stepping);
  if (wanted >= 0) {
    goodput_puts_(&more, ",\"wanted\":");
    goodput_put_number_(&more, wanted);
  }
  if (spares >= 0) {
    goodput_puts_(&more, ",\"spares\":");
    goodput_put_number_(&more, spares);
  }
  if (tokens >= 0) {
    goodput_puts_(&more, ",\"tokens\":");
    goodput_put_number_(&more, tokens);
  }
  bytes[more.size] = 0;
  goodput_mark_with_("world", "begin", -1, NULL, bytes, goodput_is_world_(stepping, wanted, spares, tokens));
}

/* The number of marks dropped by this process, including those dropped by its parent before the fork. */
static inline unsigned long long goodput_dropped(void) {
  return __atomic_load_n(&goodput_client_.dropped, __ATOMIC_RELAXED);
}

#ifdef __cplusplus
}
#endif

#endif /* SLURM_GOODPUT_GOODPUT_H_ */
