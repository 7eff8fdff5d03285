/* SPDX-License-Identifier: Apache-2.0 */
#include "app/replay_player.h"

#include <stdlib.h>

#include "app/replay_file.h"
#include "base/log.h"
#include "base/mem.h"
#include "cache/replay.h"
#include "io/deadline.h"
#include "io/loop.h"

/* So many lines are played at once, so that the loop does not stand still for a large recording. */
enum { LINES_AT_ONCE = 500 };

enum player_state {
    PLAYER_PLAYING, /* the timer is due when the next line is */
    PLAYER_WAITING, /* with speed 0: until the hooks are quiet */
    PLAYER_ENDED,
};

struct replay_player {
    struct replay_player_params params;
    const struct replay_player_events *events;
    void *arg;
    enum player_state state;
    struct deadline *timer;
    struct replay **replays;    /* as conf->watches; NULL unless the first of equal watches */
    bool *listed;               /* the same: the list of the watch is complete */
    struct recording_line line; /* the next one to play, if has_line */
    bool has_line;
    uint64_t begun_ms;
    uint64_t due_ms; /* of the last line: time does not go back */
    uint64_t lines;
};

static struct now now_of(const struct replay_player *p)
{
    return (struct now){.ms = loop_now_ms(p->params.loop), .wall_ns = loop_wall_ns()};
}

static struct watch *watch_at(const struct replay_player *p, size_t i)
{
    return sources_watches(p->params.sources)[i].watch;
}

/* ---- Playing to a watch */

static void complete_list(struct replay_player *p, size_t i)
{
    const struct watch *w = watch_at(p, i);

    if (p->listed[i] || p->replays[i] == NULL)
        return;
    p->listed[i] = true;
    replay_listed(p->replays[i], now_of(p));
    log_info("watch synced", KV_STR("cluster", watch_cluster(w)), KV_STR("watch", watch_name(w)),
             KV_U64("objects", store_count(watch_store(w))));
}

/* The SYNCED line of a recording. */
static void become_synced(struct replay_player *p, size_t i, bool stale)
{
    bool again = p->listed[i];

    complete_list(p, i);
    if (stale && !again)
        replay_stale(p->replays[i], true, now_of(p));
}

static void change(struct replay_player *p, size_t i, const struct recording_line *l)
{
    const struct delta as = {
        .type = l->type, .cause = l->cause, .final_state_unknown = l->final_state_unknown};
    struct err err;

    if (l->type == DELTA_STALE || l->type == DELTA_FRESH)
        replay_stale(p->replays[i], l->type == DELTA_STALE, now_of(p));
    else if (replay_change(p->replays[i], l->object, as, now_of(p), &err) != ERR_OK)
        log_warn("replay: an object is left out",
                 KV_STR("line", replay_file_place(p->params.plan->file)),
                 KV_STR("watch", l->source), KV_ERR(&err));
}

/* The index of the watch that gets the line; false: none does. */
static bool taker_of(const struct replay_player *p, const struct recording_line *l, size_t *i)
{
    const struct replay_route *route =
        l->source != NULL ? replay_plan_route(p->params.plan, l->source) : NULL;

    *i = route != NULL ? (size_t)(route - p->params.plan->routes) : 0;
    return route != NULL;
}

static void offer_to_all(struct replay_player *p, struct object *o)
{
    for (size_t i = 0; i < p->params.plan->count; i++)
        if (p->replays[i] != NULL && replay_is_of(&p->params.plan->routes[i].resource, o))
            replay_item(p->replays[i], o);
}

static void play(struct replay_player *p, const struct recording_line *l)
{
    size_t i;

    if (l->source == NULL && l->object != NULL)
        offer_to_all(p, l->object);
    else if (l->what == RECORDING_CUT)
        log_warn("replay: the recording was cut off here",
                 KV_STR("line", replay_file_place(p->params.plan->file)), KV_STR("why", l->why));
    else if (!taker_of(p, l, &i))
        return;
    else if (l->what == RECORDING_SYNCED)
        become_synced(p, i, l->stale);
    else if (l->what == RECORDING_CHANGE && p->listed[i])
        change(p, i, l);
    else if (l->what == RECORDING_CHANGE && l->object != NULL)
        replay_item(p->replays[i], l->object);
}

/* ---- Time */

/* Is the line one that a hook can notice, and so one that has to wait for the hooks? */
static bool is_noticed(const struct replay_player *p)
{
    size_t i;

    return p->line.what == RECORDING_CHANGE && taker_of(p, &p->line, &i) && p->listed[i];
}

/* When the line at hand is due. */
static uint64_t due_of(struct replay_player *p)
{
    int64_t since_ms = p->line.at_ms - p->params.plan->first_ms;

    if (p->params.speed > 0 && p->line.at_ms > 0 && since_ms > 0) {
        uint64_t due_ms = p->begun_ms + (uint64_t)((double)since_ms / p->params.speed);

        p->due_ms = due_ms > p->due_ms ? due_ms : p->due_ms;
    }
    return p->due_ms;
}

/* Everything is played. Watches that the recording does not have are empty; of a folder all lists
 * end here. */
static void end(struct replay_player *p, const struct err *err)
{
    p->state = PLAYER_ENDED;
    for (size_t i = 0; err == NULL && i < p->params.plan->count; i++) {
        complete_list(p, i);
        if (p->replays[i] != NULL && watch_stale(watch_at(p, i)))
            log_warn("replay: the recording ends while this watch is stale: hooks with when_stale "
                     "= \"wait\" do not run; end with Ctrl-C, or use --timeout",
                     KV_STR("watch", watch_name(watch_at(p, i))));
    }
    if (err == NULL)
        log_info("replay: all is played", KV_U64("lines", p->lines));
    p->events->on_progress(p->arg);
    if (err != NULL)
        p->events->on_failed(p->arg, err);
}

/* Reads the next line, unless one is at hand. False: there is none, and the player has ended. */
static bool fill(struct replay_player *p)
{
    struct err err;
    bool is_end = false;

    if (p->has_line)
        return true;
    if (replay_file_next(p->params.plan->file, &p->line, &is_end, &err) != ERR_OK) {
        end(p, &err);
        return false;
    }
    if (is_end) {
        end(p, NULL);
        return false;
    }
    p->has_line = true;
    return true;
}

/* May the line at hand be played now? If not, the timer or a poke comes when it may. */
static bool is_due(struct replay_player *p)
{
    uint64_t due_ms = due_of(p);

    if (due_ms > loop_now_ms(p->params.loop)) {
        deadline_start_at(p->timer, due_ms);
        return false;
    }
    if (p->params.speed > 0 || !is_noticed(p) || p->events->is_quiet(p->arg))
        return true;
    p->state = PLAYER_WAITING;
    return false;
}

/* With speed 0 one change is played in each turn, so that views and hooks look at it before is_quiet
 * is asked for the next one. */
static void on_timer(void *arg)
{
    struct replay_player *p = arg;
    bool goes_on = true;

    p->state = PLAYER_PLAYING;
    for (size_t n = 0; goes_on && n < LINES_AT_ONCE; n++) {
        if (!fill(p))
            return;
        if (!is_due(p))
            break;
        goes_on = p->params.speed > 0 || !is_noticed(p);
        play(p, &p->line);
        recording_line_fini(&p->line);
        p->has_line = false;
        p->lines++;
    }
    p->events->on_progress(p->arg);
    if (!p->has_line && p->state == PLAYER_PLAYING)
        deadline_start(p->timer, 0);
}

/* ---- Begin and end */

struct replay_player *replay_player_create(const struct replay_player_params *params,
                                           const struct replay_player_events *events, void *arg)
{
    const struct replay_plan *plan = params->plan;
    struct replay_player *p = MEM_NEW(struct replay_player, .params = *params, .events = events,
                                      .arg = arg, .begun_ms = loop_now_ms(params->loop));

    p->due_ms = p->begun_ms;
    p->replays = mem_array(plan->count + 1, sizeof(struct replay *));
    p->listed = mem_array(plan->count + 1, sizeof(*p->listed));
    for (size_t i = 0; i < plan->count; i++)
        if (params->conf->watches[i].first == i)
            p->replays[i] = replay_create(watch_at(p, i), plan->routes[i].example);
    /* A watch that nothing was recorded of is empty from the start. */
    for (size_t i = 0; i < plan->count && !replay_file_is_folder(plan->file); i++)
        if (plan->routes[i].source == NULL)
            complete_list(p, i);
    p->timer = deadline_create(params->loop, on_timer, p);
    deadline_start(p->timer, 0);
    return p;
}

void replay_player_poke(struct replay_player *p)
{
    if (p->state == PLAYER_WAITING && !deadline_pending(p->timer))
        deadline_start(p->timer, 0);
}

bool replay_player_has_ended(const struct replay_player *p)
{
    return p->state == PLAYER_ENDED;
}

void replay_player_stop(struct replay_player *p)
{
    p->state = PLAYER_ENDED;
    deadline_stop(p->timer);
}

void replay_player_dispose(struct replay_player **pp)
{
    struct replay_player *p = *pp;

    if (p == NULL)
        return;
    *pp = NULL;
    deadline_dispose(&p->timer);
    for (size_t i = 0; i < p->params.plan->count; i++)
        replay_destroy(&p->replays[i]);
    if (p->has_line)
        recording_line_fini(&p->line);
    free(p->replays);
    free(p->listed);
    free(p);
}
