/* SPDX-License-Identifier: Apache-2.0 */
#include "thread.h"

#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"

static void *enter(void *arg)
{
    struct hgi_thread *thread = arg;

    pthread_setname_np(pthread_self(), thread->name);
    thread->run(thread->arg);
    return NULL;
}

bool hgi_thread_start(struct hgi_thread *thread, const char *name, void (*run)(void *arg),
                      void *arg)
{
    thread->run = run;
    thread->arg = arg;
    snprintf(thread->name, sizeof(thread->name), "%s", name);
    thread->is_started = pthread_create(&thread->id, NULL, enter, thread) == 0;
    return thread->is_started;
}

void hgi_thread_join(struct hgi_thread *thread)
{
    if (thread->is_started) {
        HGI_BUG_ON(pthread_join(thread->id, NULL) != 0);
        thread->is_started = false;
    }
}

void hgi_thread_pause(int64_t ms)
{
    struct timespec left = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};

    while (nanosleep(&left, &left) != 0) {
    }
}

void hgi_thread_block_signals(void)
{
    sigset_t all;

    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
}

void hgi_thread_ask_reload(void)
{
    HGI_BUG_ON(kill(getpid(), SIGHUP) != 0);
}

int hgi_thread_wait_signal(void)
{
    sigset_t wanted;
    int number = 0;

    sigemptyset(&wanted);
    sigaddset(&wanted, SIGTERM);
    sigaddset(&wanted, SIGINT);
    sigaddset(&wanted, SIGHUP);
    HGI_BUG_ON(sigwait(&wanted, &number) != 0);
    return number;
}
