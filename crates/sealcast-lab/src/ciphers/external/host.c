/*
 * The program that runs one foreign cipher, written in C for the API of eSTREAM, in a separate process.
 *
 * It loads a shared object, and answers requests on standard input: `u32 operation, u32 length, body`. Answers go to
 * standard output: `u32 MAGIC, u32 status, u32 length, body`; if the status is not 0, the body is an error message.
 * Numbers are in the machine's byte order. Times are measured here, so that they do not include the pipe.
 *
 * Usage: host LIBRARY IV_BYTES, LIBRARY with a slash in it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { LOAD = 1, SEAL, OPEN, TURNS, KEYS, IVS, AGAIN, WORK, FIRST };
/* The operation that AGAIN repeats. */
enum { NOTHING, ENCIPHER, DECIPHER };

#define MAGIC 0x5ea1ca57u
/* Maximum size of a request, and so of a batch, in bytes. */
#define MOST_BODY (64u << 20)
/* Size of a cipher's context in bytes; an inaccessible page follows it. */
#define MOST_CONTEXT (1u << 20)
#define MOST_KEY 256u
#define MOST_PACKETS 65536u
#define MOST_TURNS 16384u
/* Limit of the address space in bytes, which bounds what a library can allocate. */
#define MOST_MEMORY (1ull << 30)
/* Packets begin at multiples of this, for libraries that load whole vectors. */
#define ALIGNMENT 16u
/* Number of bytes after the last packet that must stay unchanged. */
#define BEHIND 64u
#define CANARY 0xa5
/* Number of bytes that are enciphered to find which part of its context a cipher uses. */
#define PROBED 4096
/* Number of frames enciphered while memory use is watched, and of repetitions of the first use. */
#define FRAMES 25u
#define REPEATED 101u

struct packet {
    const uint8_t *iv;
    uint32_t at, length;
};

struct functions {
    void (*init)(void);
    void (*key)(void *context, const uint8_t *key, uint32_t key_bits, uint32_t iv_bits);
    void (*iv)(void *context, const uint8_t *iv);
    void (*process)(int action, void *context, const uint8_t *in, uint8_t *out, uint32_t length);
    void (*code[2])(void *context, const uint8_t *in, uint8_t *out, uint32_t length);
};

static void set_no_iv(void *state, const uint8_t *iv)
{
    (void)state, (void)iv;
}

static void process_nothing(int action, void *state, const uint8_t *in, uint8_t *out, uint32_t length)
{
    (void)action, (void)state, (void)in, (void)out, (void)length;
}

/* The library's functions, and those of a cipher that does nothing, whose time is that of loop, calls and clock. */
static struct functions cipher;
static const struct functions nothing = {.iv = set_no_iv, .process = process_nothing};

static int requests, answers;
static uint32_t iv_bytes;
static uint8_t *context, *loaded;
static uint32_t context_bytes;
/* Static, because some ciphers keep a pointer to their key. */
static uint8_t key[MOST_KEY];
static uint32_t key_bytes;
static struct packet packets[MOST_PACKETS];
static uint32_t count;
/* Packets in clear, and their destination: the same memory, unless the library cannot work in place. */
static uint8_t *batch, *aside, *sealed;
static uint32_t batch_bytes;

static void write_all(const void *from, size_t length)
{
    for (const char *at = from; length > 0;) {
        ssize_t written = write(answers, at, length);
        if (written <= 0)
            exit(1);
        at += written;
        length -= (size_t)written;
    }
}

static void read_all(void *to, size_t length)
{
    for (char *at = to; length > 0;) {
        ssize_t got = read(requests, at, length);
        if (got <= 0)
            exit(0);
        at += got;
        length -= (size_t)got;
    }
}

static void begin_answer(uint32_t status, uint32_t length)
{
    uint32_t head[] = {MAGIC, status, length};
    write_all(head, sizeof head);
}

static void answer(const void *body, uint32_t length)
{
    begin_answer(0, length);
    write_all(body, length);
}

static void fail(const char *words)
{
    begin_answer(1, (uint32_t)strlen(words));
    write_all(words, strlen(words));
    exit(1);
}

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void *allocate(size_t length)
{
    void *memory = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        fail("its process has no memory left");
    return memory;
}

static void find(void *library, void *function, const char *name)
{
    *(void **)function = dlsym(library, name);
}

static void open_library(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        fail(dlerror());
    find(library, &cipher.init, "ECRYPT_init");
    find(library, &cipher.key, "ECRYPT_keysetup");
    find(library, &cipher.iv, "ECRYPT_ivsetup");
    find(library, &cipher.process, "ECRYPT_process_bytes");
    find(library, &cipher.code[0], "ECRYPT_encrypt_bytes");
    find(library, &cipher.code[1], "ECRYPT_decrypt_bytes");
    if (cipher.key == NULL)
        fail("it has no function ECRYPT_keysetup");
    if (cipher.iv == NULL)
        fail("it has no function ECRYPT_ivsetup");
    if (cipher.process == NULL && (cipher.code[0] == NULL || cipher.code[1] == NULL))
        fail("it has neither ECRYPT_process_bytes nor both ECRYPT_encrypt_bytes and ECRYPT_decrypt_bytes");
    if (cipher.init != NULL)
        cipher.init();
}

static void set_key(void)
{
    cipher.key(context, key, 8 * key_bytes, 8 * iv_bytes);
}

/* A cipher without IVs starts again from its key for each packet. */
static void set_iv(const struct functions *by, const uint8_t *iv)
{
    if (iv_bytes == 0 && by == &cipher)
        memcpy(context, loaded, context_bytes);
    by->iv(context, iv);
}

static void code(const struct functions *by, int action, const uint8_t *in, uint8_t *out, uint32_t length)
{
    if (by->process != NULL)
        by->process(action, context, in, out, length);
    else
        by->code[action](context, in, out, length);
}

/* Volatile, so that the compiler cannot see that a function does nothing and remove the call. */
static void code_all(const struct functions *volatile who, int action, const uint8_t *from, uint8_t *to)
{
    const struct functions *by = who;
    for (uint32_t at = 0; at < count; at++) {
        const struct packet *packet = &packets[at];
        set_iv(by, packet->iv);
        code(by, action, from + packet->at, to + packet->at, packet->length);
    }
}

static void end_batch(uint32_t bytes)
{
    batch_bytes = bytes;
    memset(batch + bytes, CANARY, BEHIND);
    memset(aside + bytes, CANARY, BEHIND);
}

static void check_behind(void)
{
    for (uint32_t at = batch_bytes; at < batch_bytes + BEHIND; at++)
        if (batch[at] != CANARY || aside[at] != CANARY)
            fail("it writes beyond the end of a packet");
}

/* How far into its context the cipher writes, if the context was filled with this byte. */
static uint32_t reach(uint8_t before, uint8_t *to, uint8_t *coded)
{
    static const uint8_t iv[MOST_KEY] = {1};
    uint32_t end = MOST_CONTEXT;
    memset(context, before, MOST_CONTEXT);
    memset(batch, 1, PROBED);
    end_batch(PROBED);
    set_key();
    cipher.iv(context, iv);
    code(&cipher, 0, batch, to, PROBED);
    check_behind();
    memcpy(coded, to, PROBED);
    while (end > 0 && context[end - 1] == before)
        end--;
    return end;
}

static void probe(void)
{
    static uint8_t once[PROBED], twice[PROBED];
    uint32_t end = reach(CANARY, aside, once), other = reach((uint8_t)~CANARY, aside, twice);
    if (memcmp(once, twice, PROBED) != 0)
        fail("its bytes depend on what was in its context before the key was loaded");
    context_bytes = end > other ? end : other;
    reach(CANARY, batch, twice);
    sealed = memcmp(once, twice, PROBED) == 0 ? batch : aside;
}

static void load(const uint8_t *body, uint32_t length)
{
    if (length > MOST_KEY)
        fail("the key is too long");
    memcpy(key, body, length);
    key_bytes = length;
    if (context_bytes == 0)
        probe();
    set_key();
    memcpy(loaded, context, context_bytes);
    uint32_t found[] = {context_bytes, sealed == batch};
    answer(found, sizeof found);
}

/* Reads the IV, length and data of each packet, and copies the data to aligned addresses. */
static void take_packets(const uint8_t *body, uint32_t length)
{
    uint32_t bytes = 0;
    count = 0;
    while (length > 0) {
        struct packet *packet = &packets[count];
        uint32_t head = iv_bytes + sizeof packet->length;
        if (count == MOST_PACKETS || length < head)
            fail("a batch that is none");
        packet->iv = body;
        memcpy(&packet->length, body + iv_bytes, sizeof packet->length);
        if (packet->length > length - head)
            fail("a batch that is none");
        packet->at = bytes;
        memcpy(batch + bytes, body + head, packet->length);
        bytes += (packet->length + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        body += head + packet->length;
        length -= head + packet->length;
        count++;
    }
    end_batch(bytes);
}

static void code_once(int action)
{
    uint32_t bytes = 0;
    code_all(&cipher, action, batch, sealed);
    check_behind();
    for (uint32_t at = 0; at < count; at++)
        bytes += packets[at].length;
    begin_answer(0, bytes);
    for (uint32_t at = 0; at < count; at++)
        write_all(sealed + packets[at].at, packets[at].length);
}

static uint8_t *copy_of_batch(void)
{
    uint8_t *copy = malloc(batch_bytes);
    if (copy == NULL)
        fail("its process has no memory left");
    memcpy(copy, batch, batch_bytes);
    return copy;
}

/* Counts this process's cycles outside the kernel, and the time during which it counted; -1 without a counter. */
static int count_cycles(void)
{
    struct perf_event_attr what = {
        .type = PERF_TYPE_HARDWARE,
        .size = sizeof what,
        .config = PERF_COUNT_HW_CPU_CYCLES,
        .read_format = PERF_FORMAT_TOTAL_TIME_RUNNING,
        .exclude_kernel = 1,
        .exclude_hv = 1,
    };
    return (int)syscall(SYS_perf_event_open, &what, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Alternates between doing nothing, enciphering and deciphering until the time is over, at least once. */
static void turns(const uint8_t *body, uint32_t length)
{
    static struct {
        uint64_t cycles, running, took[MOST_TURNS][3];
    } figures;
    uint64_t limit, began, opened;
    uint32_t done = 0;
    if (length < sizeof limit)
        fail("a request that is none");
    memcpy(&limit, body, sizeof limit);
    take_packets(body + sizeof limit, length - sizeof limit);
    uint8_t *before = copy_of_batch();
    int counter = count_cycles();
    began = now();
    do {
        uint64_t start = now();
        code_all(&nothing, 0, batch, sealed);
        uint64_t passed = now();
        code_all(&cipher, 0, batch, sealed);
        uint64_t middle = now();
        code_all(&cipher, 1, sealed, batch);
        opened = now();
        figures.took[done][0] = passed - start;
        figures.took[done][1] = middle - passed;
        figures.took[done][2] = opened - middle;
        done++;
    } while (opened - began < limit && done < MOST_TURNS);
    if (read(counter, &figures, 2 * sizeof limit) != 2 * sizeof limit)
        figures.cycles = figures.running = 0;
    close(counter);
    check_behind();
    if (memcmp(before, batch, batch_bytes) != 0)
        fail("it does not open what it sealed");
    free(before);
    answer(&figures, 2 * (uint32_t)sizeof limit + done * (uint32_t)sizeof figures.took[0]);
}

/* Time for a number of repetitions of a batch, each on the same bytes; copying them is included. */
static void again(const uint8_t *body, uint32_t length)
{
    struct {
        uint32_t times, act;
    } asked;
    uint64_t began, took;
    if (length < sizeof asked)
        fail("a request that is none");
    memcpy(&asked, body, sizeof asked);
    take_packets(body + sizeof asked, length - sizeof asked);
    uint8_t *before = copy_of_batch();
    const struct functions *by = asked.act == NOTHING ? &nothing : &cipher;
    began = now();
    while (asked.times-- > 0) {
        memcpy(batch, before, batch_bytes);
        code_all(by, asked.act == DECIPHER, batch, sealed);
    }
    took = now() - began;
    check_behind();
    free(before);
    answer(&took, sizeof took);
}

/* Enciphers the packets again and again until the time is over, at least once, for a meter that is read meanwhile. */
static void work(const uint8_t *body, uint32_t length)
{
    uint64_t limit, times = 0, began = now();
    if (length < sizeof limit)
        fail("a request that is none");
    memcpy(&limit, body, sizeof limit);
    take_packets(body + sizeof limit, length - sizeof limit);
    do {
        code_all(&cipher, 0, batch, sealed);
        times++;
    } while (now() - began < limit);
    check_behind();
    answer(&times, sizeof times);
}

/* Resident memory of this process in bytes; 0 if the kernel does not tell. */
static uint64_t resident(void)
{
    static char text[4096];
    int file = open("/proc/self/smaps_rollup", O_RDONLY);
    ssize_t got = read(file, text, sizeof text - 1);
    close(file);
    text[got < 0 ? 0 : got] = 0;
    const char *line = strstr(text, "\nRss:");
    return line == NULL ? 0 : strtoull(line + strlen("\nRss:"), NULL, 10) << 10;
}

/* Time to load the key and encipher one block. */
static uint64_t use(const uint8_t *iv, uint32_t block)
{
    uint64_t began = now();
    set_key();
    if (iv_bytes == 0)
        memcpy(loaded, context, context_bytes);
    set_iv(&cipher, iv);
    code(&cipher, 0, batch, sealed, block);
    return now() - began;
}

/* The first use of the cipher, which an earlier process has examined: a block, frames, and the block repeatedly. */
static void first(const uint8_t *body, uint32_t length)
{
    static uint8_t iv[MOST_KEY];
    static struct {
        uint64_t before, after, first, again[REPEATED];
    } figures;
    struct {
        uint32_t in_place, context, block, frame;
    } asked;
    if (length < sizeof asked || length - sizeof asked > MOST_KEY)
        fail("a request that is none");
    memcpy(&asked, body, sizeof asked);
    if (asked.context > MOST_CONTEXT || asked.block > MOST_BODY || asked.frame > MOST_BODY)
        fail("a request that is none");
    key_bytes = length - (uint32_t)sizeof asked;
    memcpy(key, body + sizeof asked, key_bytes);
    context_bytes = asked.context;
    sealed = asked.in_place ? batch : aside;
    /* What holds the packets and the figures is there before, as in the laboratory's own process. */
    uint32_t most = asked.block > asked.frame ? asked.block : asked.frame;
    memset(batch, 1, most);
    memset(aside, 1, most);
    end_batch(most);
    memset(&figures, 1, sizeof figures);
    resident();
    figures.before = resident();
    figures.first = use(iv, asked.block);
    for (uint32_t frame = 0; frame < FRAMES; frame++) {
        iv[0] = (uint8_t)frame;
        set_iv(&cipher, iv);
        code(&cipher, 0, batch, sealed, asked.frame);
    }
    figures.after = resident();
    for (uint32_t time = 0; time < REPEATED; time++)
        figures.again[time] = use(iv, asked.block);
    check_behind();
    answer(&figures, sizeof figures);
}

/* Time for a number of key set-ups or IV set-ups. */
static void set_up(uint32_t operation, const uint8_t *body, uint32_t length)
{
    uint32_t times;
    uint64_t began, took;
    if (length != sizeof times + (operation == IVS ? iv_bytes : 0))
        fail("a request that is none");
    memcpy(&times, body, sizeof times);
    began = now();
    if (operation == KEYS)
        while (times-- > 0)
            set_key();
    else
        while (times-- > 0)
            cipher.iv(context, body + sizeof times);
    took = now() - began;
    answer(&took, sizeof took);
}

/* Keeps the library away from the pipes: its output is no answer, and its input is no request. */
static void keep_pipes(void)
{
    int nowhere = open("/dev/null", O_RDWR);
    requests = dup(0);
    answers = dup(1);
    if (nowhere < 0 || requests < 0 || answers < 0 || dup2(nowhere, 0) < 0 || dup2(nowhere, 1) < 0)
        exit(1);
}

static void bound(void)
{
    struct rlimit memory = {MOST_MEMORY, MOST_MEMORY}, core = {0, 0};
    setrlimit(RLIMIT_AS, &memory);
    setrlimit(RLIMIT_CORE, &core);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    long page = sysconf(_SC_PAGESIZE);
    context = allocate(MOST_CONTEXT + (size_t)page);
    if (mprotect(context + MOST_CONTEXT, (size_t)page, PROT_NONE) != 0)
        fail("its process cannot guard its context");
    loaded = allocate(MOST_CONTEXT);
    batch = allocate(MOST_BODY + (size_t)MOST_PACKETS * ALIGNMENT + BEHIND);
    aside = allocate(MOST_BODY + (size_t)MOST_PACKETS * ALIGNMENT + BEHIND);
}

int main(int arguments, char **argument)
{
    if (arguments != 3)
        return 2;
    keep_pipes();
    iv_bytes = (uint32_t)strtoul(argument[2], NULL, 10);
    if (iv_bytes > MOST_KEY)
        fail("the IV is too long");
    bound();
    uint8_t *body = allocate(MOST_BODY);
    open_library(argument[1]);
    for (;;) {
        uint32_t head[2];
        read_all(head, sizeof head);
        if (head[1] > MOST_BODY)
            fail("a request that is too long");
        read_all(body, head[1]);
        switch (head[0]) {
        case LOAD: load(body, head[1]); break;
        case SEAL: take_packets(body, head[1]); code_once(0); break;
        case OPEN: take_packets(body, head[1]); code_once(1); break;
        case TURNS: turns(body, head[1]); break;
        case KEYS: case IVS: set_up(head[0], body, head[1]); break;
        case AGAIN: again(body, head[1]); break;
        case WORK: work(body, head[1]); break;
        case FIRST: first(body, head[1]); break;
        default: fail("a request that is none");
        }
    }
}
