// An HTTP client that does as little as can be done: one thread, one epoll, a byte
// scan instead of a decoder. It is what aiperfd is compared with.
//
// Each of STREAMS connections is kept alive, sends the same request again as
// soon as its response is whole, and counts the events of the response ("\n\n"
// in the body; a plain response is one event). With --rate it is an open loop:
// requests are due as a Poisson process, each takes the connection that became idle
// last or opens one, and the lag is how long after it was due it started. The
// program prints one line of JSON. Build: cc -O2 -o epoll epoll.c -lm
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <math.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { READ_SIZE = 64 << 10, HEAD_MAX = 4096, WAIT_MAX = 1024, WAIT_MS = 30000 };

// Where the parser of a response is.
enum state { HEAD, BODY, SIZE, DATA, DATA_END, TRAILER, IDLE };

struct conn {
    int fd;
    enum state state;
    int64_t start;   // wall clock, ns, before the request is written
    int64_t first;   // of the first event; 0 = not yet
    uint64_t left;   // bytes of the chunk, or of the body, still to come
    size_t sent;     // bytes of the request
    uint32_t head_n; // bytes of the head kept in head
    uint8_t last;    // last byte of the body, to find "\n\n" across reads
    uint8_t line;    // bytes of the current trailer line, saturated
    char *head;      // only until the head is whole
    struct conn *idle; // the one that became idle before; open loop
};

enum { HOSTS_MAX = 16 };
static const char *hosts[HOSTS_MAX] = {"127.0.0.1"};
static int hosts_n = 1, next_host;
static const char *path = "/v1/chat/completions", *body_file;
static int port, streams = 1, plain, kernel_stamps;
static long requests;      // 0 = by time
static double seconds;     // 0 = by number
static double rate;        // requests a second; 0 = closed loop
static char *request;
static size_t request_len;
static char buffer[READ_SIZE];

static int epfd;
static long started, finished, failed;
static int live;
static uint64_t events, bytes, reads;
static int64_t run_start, run_end, deadline;
static struct conn *idle;  // open loop

// values is a list that grows.
struct values {
    double *v;
    size_t n, cap;
};
static struct values ttft, lag; // ms

static void die(const char *what) {
    perror(what);
    exit(1);
}

static void give_up(void) {
    fprintf(stderr, "epoll: nothing came for %d ms\n", WAIT_MS);
    exit(1);
}

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void keep(struct values *l, double x) {
    if (l->n == l->cap) {
        l->cap = l->cap ? l->cap * 2 : 4096;
        if (!(l->v = realloc(l->v, l->cap * sizeof *l->v))) die("realloc");
    }
    l->v[l->n++] = x;
}

static void watch(struct conn *c, uint32_t what, int op) {
    struct epoll_event e = {.events = what, .data.ptr = c};
    if (epoll_ctl(epfd, op, c->fd, &e)) die("epoll_ctl");
}

static void end_conn(struct conn *c) {
    close(c->fd);
    c->fd = -1;
    live--;
}

static void fail_conn(struct conn *c) {
    failed++;
    end_conn(c);
}

// send_more writes what is left of the request.
static void send_more(struct conn *c) {
    ssize_t n = send(c->fd, request + c->sent, request_len - c->sent, MSG_NOSIGNAL);
    if (n < 0 && errno != EAGAIN) {
        fail_conn(c);
        return;
    }
    size_t before = c->sent;
    if (n > 0) c->sent += (size_t)n;
    if (c->sent < request_len) {
        watch(c, EPOLLIN | EPOLLOUT, EPOLL_CTL_MOD);
    } else if (before > 0) {
        watch(c, EPOLLIN, EPOLL_CTL_MOD);
    }
}

static void start_request(struct conn *c) {
    started++;
    c->state = HEAD;
    c->first = 0;
    c->sent = 0;
    c->head_n = 0;
    c->last = 0;
    c->start = now_ns();
    send_more(c);
}

// next_request starts another request, or ends the connection.
static void next_request(struct conn *c) {
    if (rate > 0) {
        c->state = IDLE;
        c->idle = idle;
        idle = c;
    } else if (requests ? started >= requests : now_ns() >= deadline) {
        end_conn(c);
    } else {
        start_request(c);
    }
}

static void response_done(struct conn *c, int64_t at) {
    finished++;
    if (plain) events++;
    if (c->first) keep(&ttft, (double)(c->first - c->start) / 1e6);
    run_end = at;
    next_request(c);
}

// count_events counts blank lines in a piece of the body.
static void count_events(struct conn *c, const char *p, size_t n) {
    if (plain || n == 0) return;
    if (c->last == '\n' && p[0] == '\n') events++;
    const char *end = p + n, *q = p;
    while ((q = memchr(q, '\n', (size_t)(end - q))) && q + 1 < end) {
        if (q[1] == '\n') {
            events++;
            q++;
        }
        q++;
    }
    c->last = (uint8_t)end[-1];
}

// take_head keeps head bytes until the head is whole, and returns how many of
// the n bytes belong to it; -1 when the response is none that we can read.
static ssize_t take_head(struct conn *c, const char *p, size_t n) {
    if (!c->head && !(c->head = malloc(HEAD_MAX + 1))) die("malloc");
    size_t room = HEAD_MAX - c->head_n, take = n < room ? n : room;
    memcpy(c->head + c->head_n, p, take);
    char *end = memmem(c->head, c->head_n + take, "\r\n\r\n", 4);
    if (!end) {
        c->head_n += (uint32_t)take;
        return take < n ? -1 : (ssize_t)take;
    }
    end[2] = 0;
    size_t used = (size_t)(end + 4 - c->head) - c->head_n;
    const char *length = strcasestr(c->head, "\r\nContent-Length:");
    int ok = strncmp(c->head, "HTTP/1.1 200", 12) == 0;
    if (length) {
        c->left = strtoull(length + 17, NULL, 10);
        c->state = BODY;
    } else {
        ok = ok && strcasestr(c->head, "\r\nTransfer-Encoding: chunked");
        c->left = 0;
        c->state = SIZE;
    }
    free(c->head);
    c->head = NULL;
    c->head_n = 0;
    return ok ? (ssize_t)used : -1;
}

static int hex(char ch) {
    if (ch >= '0' && ch <= '9') return ch - '0';
    ch |= 0x20;
    return ch >= 'a' && ch <= 'f' ? ch - 'a' + 10 : -1;
}

// take_data counts the next bytes of a chunk or of a body with a length.
static size_t take_data(struct conn *c, const char *p, size_t n, int64_t at) {
    size_t take = c->left < n ? (size_t)c->left : n;
    if (!c->first && take) c->first = at;
    count_events(c, p, take);
    bytes += take;
    c->left -= take;
    return take;
}

// feed parses n bytes that arrived at the given time.
static void feed(struct conn *c, const char *p, size_t n, int64_t at) {
    const char *end = p + n;
    while (p < end) {
        size_t rest = (size_t)(end - p);
        switch (c->state) {
        case IDLE: // nobody asked for it
            end_conn(c);
            return;
        case HEAD: {
            ssize_t used = take_head(c, p, rest);
            if (used < 0) {
                fail_conn(c);
                return;
            }
            p += used;
            if (c->state == BODY && c->left == 0) {
                response_done(c, at);
                return;
            }
            break;
        }
        case BODY:
            p += take_data(c, p, rest, at);
            if (c->left == 0) {
                response_done(c, at);
                return;
            }
            break;
        case SIZE: {
            int v = hex(*p);
            if (v >= 0) c->left = c->left * 16 + (uint64_t)v;
            if (*p++ == '\n') {
                c->state = c->left ? DATA : TRAILER;
                c->line = 0;
            }
            break;
        }
        case DATA:
            p += take_data(c, p, rest, at);
            if (c->left == 0) c->state = DATA_END;
            break;
        case DATA_END:
            if (*p++ == '\n') c->state = SIZE;
            break;
        case TRAILER:
            if (*p == '\n') {
                if (c->line <= 1) {
                    response_done(c, at);
                    return;
                }
                c->line = 0;
            } else if (c->line < 2) {
                c->line++;
            }
            p++;
            break;
        }
    }
}

// receive reads once and returns when the bytes arrived.
static ssize_t receive(int fd, int64_t *at) {
    if (!kernel_stamps) {
        ssize_t n = recv(fd, buffer, sizeof buffer, 0);
        *at = now_ns();
        return n;
    }
    char control[64];
    struct iovec v = {buffer, sizeof buffer};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    ssize_t n = recvmsg(fd, &m, 0);
    *at = 0;
    for (struct cmsghdr *h = CMSG_FIRSTHDR(&m); n > 0 && h; h = CMSG_NXTHDR(&m, h)) {
        if (h->cmsg_level == SOL_SOCKET && h->cmsg_type == SO_TIMESTAMPNS) {
            struct timespec t;
            memcpy(&t, CMSG_DATA(h), sizeof t);
            *at = t.tv_sec * 1000000000LL + t.tv_nsec;
        }
    }
    if (!*at) *at = now_ns();
    return n;
}

static void readable(struct conn *c) {
    int64_t at;
    ssize_t n = receive(c->fd, &at);
    if (n > 0) {
        reads++;
        feed(c, buffer, (size_t)n, at);
    } else if (n == 0 || errno != EAGAIN) {
        if (c->state == IDLE) end_conn(c);
        else fail_conn(c);
    }
}

static void open_conn(struct conn *c) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    const char *host = hosts[next_host++ % hosts_n];
    if (inet_pton(AF_INET, host, &to.sin_addr) != 1) die("inet_pton");
    if ((c->fd = socket(AF_INET, SOCK_STREAM, 0)) < 0) die("socket");
    if (connect(c->fd, (struct sockaddr *)&to, sizeof to)) die("connect");
    int one = 1;
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (kernel_stamps) setsockopt(c->fd, SOL_SOCKET, SO_TIMESTAMPNS, &one, sizeof one);
    if (fcntl(c->fd, F_SETFL, O_NONBLOCK)) die("fcntl");
    live++;
    watch(c, EPOLLIN, EPOLL_CTL_ADD);
    start_request(c);
}

static void make_request(void) {
    FILE *f = fopen(body_file, "r");
    if (!f) die(body_file);
    static char body[1 << 20];
    size_t n = fread(body, 1, sizeof body, f);
    fclose(f);
    if (!(request = malloc(n + 1024))) die("malloc");
    int head = snprintf(request, 1024, "POST %s HTTP/1.1\r\nHost: %s:%d\r\nContent-Type: application/json\r\n"
        "Accept: %s\r\nContent-Length: %zu\r\n\r\n", path, hosts[0], port, plain ? "application/json" : "text/event-stream", n);
    if (head < 0 || head >= 1024) die("snprintf");
    memcpy(request + head, body, n);
    request_len = (size_t)head + n;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// percentile is that of numpy: linear between the closest ranks. The list is sorted.
static double percentile(const struct values *l, double q) {
    if (!l->n) return 0;
    double at = q * (double)(l->n - 1);
    size_t i = (size_t)at;
    return i + 1 < l->n ? l->v[i] + (at - (double)i) * (l->v[i + 1] - l->v[i]) : l->v[i];
}

// print_values writes a list as a member of a JSON object.
static void print_values(const char *name, struct values *l) {
    double sum = 0;
    for (size_t i = 0; i < l->n; i++) sum += l->v[i];
    if (l->n) qsort(l->v, l->n, sizeof *l->v, by_value);
    printf(",\"%s\":{\"avg\":%.6f,\"p50\":%.6f,\"p99\":%.6f}", name, l->n ? sum / (double)l->n : 0,
        percentile(l, 0.5), percentile(l, 0.99));
}

// peak_kib is the most memory that was resident. getrusage(2) would include that
// of the program that started this one.
static long peak_kib(void) {
    FILE *f = fopen("/proc/self/status", "r");
    if (!f) die("/proc/self/status");
    char line[256];
    long kib = 0;
    while (fgets(line, sizeof line, f)) {
        if (sscanf(line, "VmHWM: %ld", &kib) == 1) break;
    }
    fclose(f);
    return kib;
}

static void report(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    double cpu = (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
    double wall = (double)(run_end - run_start) / 1e9;
    printf("{\"streams\":%d,\"requests\":%ld,\"failed\":%ld,\"events\":%llu,\"bytes\":%llu,\"reads\":%llu,"
        "\"seconds\":%.6f,\"cpu_seconds\":%.6f,\"rss_kib\":%ld",
        streams, finished, failed, (unsigned long long)events, (unsigned long long)bytes, (unsigned long long)reads,
        wall, cpu, peak_kib());
    print_values("ttft_ms", &ttft);
    print_values("lag_ms", &lag);
    printf("}\n");
}

static void usage(void) {
    fprintf(stderr, "usage: epoll --port N --body FILE (--requests N | --seconds S) [--host IP,IP...] [--path PATH]\n"
        "             [--streams N | --rate R] [--plain] [--kernel-stamps]\n");
    exit(2);
}

// split_hosts takes the addresses that connections use in turn.
static void split_hosts(char *list) {
    hosts_n = 0;
    for (char *h = strtok(list, ","); h; h = strtok(NULL, ",")) {
        if (hosts_n == HOSTS_MAX) usage();
        hosts[hosts_n++] = h;
    }
    if (!hosts_n) usage();
}

static void parse(int argc, char **argv) {
    static const struct option options[] = {
        {"host", 1, 0, 'h'}, {"port", 1, 0, 'p'}, {"path", 1, 0, 'u'}, {"streams", 1, 0, 'c'}, {"requests", 1, 0, 'n'},
        {"seconds", 1, 0, 't'}, {"rate", 1, 0, 'r'}, {"body", 1, 0, 'b'}, {"plain", 0, 0, 'l'}, {"kernel-stamps", 0, 0, 'k'}, {0, 0, 0, 0}};
    for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (o) {
        case 'h': split_hosts(optarg); break;
        case 'p': port = atoi(optarg); break;
        case 'u': path = optarg; break;
        case 'c': streams = atoi(optarg); break;
        case 'n': requests = atol(optarg); break;
        case 't': seconds = atof(optarg); break;
        case 'r': rate = atof(optarg); break;
        case 'b': body_file = optarg; break;
        case 'l': plain = 1; break;
        case 'k': kernel_stamps = 1; break;
        default: usage();
        }
    }
    if (!port || !body_file || streams < 1 || (requests > 0) == (seconds > 0) || rate < 0 || (rate > 0 && !requests)) usage();
}

// take handles what epoll has reported.
static void take(const struct epoll_event *ready, int n) {
    for (int i = 0; i < n; i++) {
        struct conn *c = ready[i].data.ptr;
        if (c->fd >= 0 && ready[i].events & EPOLLOUT) send_more(c);
        if (c->fd >= 0 && ready[i].events & ~(uint32_t)EPOLLOUT) readable(c);
    }
}

// open_loop starts requests when they are due, whatever became of those before.
static void open_loop(void) {
    static struct epoll_event ready[WAIT_MAX];
    int64_t due = now_ns();
    while (finished + failed < requests) {
        int64_t left = started < requests ? due - now_ns() : WAIT_MS * 1000000LL;
        struct timespec t = {left > 0 ? left / 1000000000 : 0, left > 0 ? left % 1000000000 : 0};
        int n = epoll_pwait2(epfd, ready, WAIT_MAX, &t, NULL);
        if (n < 0 && errno != EINTR) die("epoll_pwait2");
        if (n == 0 && started >= requests) give_up();
        while (started < requests && now_ns() >= due) {
            while (idle && idle->fd < 0) idle = idle->idle; // the server closed it
            struct conn *c = idle;
            if (c) {
                idle = c->idle;
                start_request(c);
            } else {
                if (!(c = calloc(1, sizeof *c))) die("calloc");
                open_conn(c);
            }
            keep(&lag, (double)(c->start - due) / 1e6);
            due += (int64_t)(-log(1 - drand48()) / rate * 1e9);
        }
        take(ready, n);
    }
}

int main(int argc, char **argv) {
    parse(argc, argv);
    make_request();
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files)) die("getrlimit");
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    if ((epfd = epoll_create1(0)) < 0) die("epoll_create1");
    run_start = now_ns();
    if (rate > 0) {
        open_loop();
        report();
        return failed > 0;
    }
    struct conn *conns = calloc((size_t)streams, sizeof *conns);
    if (!conns) die("calloc");
    deadline = run_start + (int64_t)(seconds * 1e9);
    static struct epoll_event ready[WAIT_MAX];
    for (int opened = 0; opened < streams || live > 0;) {
        // Connections are opened a few at a time between reads, so that the first
        // streams are not read late.
        for (int i = 0; i < 16 && opened < streams; i++) open_conn(&conns[opened++]);
        int n = epoll_wait(epfd, ready, WAIT_MAX, opened < streams ? 0 : WAIT_MS);
        if (n < 0 && errno != EINTR) die("epoll_wait");
        if (n == 0 && opened == streams) give_up();
        take(ready, n);
    }
    report();
    return failed > 0;
}
