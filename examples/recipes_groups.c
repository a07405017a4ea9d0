/* recipes_groups.c - samples of classes, files, documents or episodes.

       make examples && build/recipes_groups

   Short recipes to copy, each beside a check, which runs it and prints a line.
   Names in capitals and functions marked "Yours" stand for your own; `train` is
   in recipes.h. */
#define STATESAMPLER_IMPLEMENTATION
#define STATESAMPLER_HOSTED
#include "statesampler.h"
#include "recipes.h"

static const char usage[] = "usage: recipes_groups\n\n"
                            "Runs and checks each recipe.\n";

/* --- Groups, for the checks ----------------------------------------------- */

/* sums[k] is the total size of the groups 0 .. k. */
static uint64_t size[64], sums[64];

/* Sets the sizes of the groups and forgets what was trained on. */
static void make_groups(uint64_t groups, uint64_t least, uint64_t range)
{
    uint64_t i;

    for (i = 0; i < groups; i++) {
        size[i] = least + i * i * 7 % range;
        sums[i] = size[i] + (i > 0 ? sums[i - 1] : 0);
    }
    begin_counts();
}

/* --- Map an index to its group -------------------------------------------- */

/* Groups are classes, files or episodes. Each owns as many numbers as it has
   samples, or as its weight says, and the sampler shuffles the numbers. This is
   the group that owns one: the first whose sum is above it. */
static uint64_t find_group(uint64_t groups, uint64_t number)
{
    uint64_t low = 0, high = groups - 1;

    while (low < high) { /* the distance halves each time */
        uint64_t middle = (low + high) / 2;

        if (sums[middle] > number)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static void check_find_group(void)
{
    uint64_t number, group = 0;
    int so = 1;

    make_groups(50, 0, 30); /* some are empty */
    for (number = 0; number < sums[49]; number++) {
        while (sums[group] <= number) {
            group++;
        }
        so = so && find_group(50, number) == group;
    }
    say(so, "groups: each number is found in its group");
}

/* --- P x K batches -------------------------------------------------------- */

#define CLASSES 12u
#define P 4u
#define K 3u

/* A batch of P classes with K samples of each. A round visits every class
   once, in a new order; a pass visits the samples of a class once. P divides
   CLASSES, and a class has at least K samples. Rank r of W takes the batch
   step * W + r. A checkpoint needs only the number of the batch. */
static void take_classes(uint64_t batch, uint64_t *out)
{
    statesampler_perm order;
    uint64_t i, j, turn = batch * P, round = turn / CLASSES;

    for (i = 0; i < P; i++, turn++) {
        uint64_t c, pass; /* a class; how many rounds a pass takes */

        statesampler_perm_init(&order, CLASSES, 42, round, CLASSES);
        c = statesampler_perm_at(&order, turn % CLASSES);
        pass = size[c] / K;
        statesampler_perm_init(&order, size[c], 42, round / pass, c);
        for (j = 0; j < K; j++)
            *out++ = sums[c] - size[c] +
                     statesampler_perm_at(&order, round % pass * K + j);
    }
}

static void check_take_classes(void)
{
    uint64_t batch, out[P * K], had[CLASSES] = {0}, i, k;
    int so = 1;

    make_groups(CLASSES, 6, 20);
    for (batch = 0; batch < 30; batch++) { /* ten rounds */
        take_classes(batch, out);
        so = so && differ(out, P * K);
        train(out, P * K);
        for (i = 0; i < P * K; i++) {
            k = find_group(CLASSES, out[i]);
            had[k]++;
            so = so && k == find_group(CLASSES, out[i / K * K]);
            so = so && served[out[i]] <= 9 / (size[k] / K) + 1;
        }
    }
    for (k = 0; k < CLASSES; k++) {
        so = so && had[k] == 10 * K;
    }
    say(so, "P x K: each class equally often, no sample twice in a batch or "
            "a pass");
}

/* --- Token windows -------------------------------------------------------- */

#define TOKENS 20000u
#define T 64u
#define DOCUMENTS 50u

static uint64_t first_window;
static int windows_fit;

/* Yours: trains on the tokens first .. last - 1. Each predicts the next. */
static void train_window(uint64_t document, uint64_t first, uint64_t last)
{
    windows_fit = windows_fit && last <= TOKENS && first < sums[document] &&
                  first >= sums[document] - size[document];
    first_window = first < first_window ? first : first_window;
    for (; first < last - 1; first++) {
        train(&first, 1);
    }
}

/* Windows of T + 1 tokens of one long array, as nanoGPT and llm.c keep it. Each
   epoch cuts it at other places. A window's document is that of its first
   token. */
static int read_windows(uint64_t epoch)
{
    const statesampler_desc desc = {
        .num_samples = TOKENS / T - 1,
        .seed = 42,
        .epoch = epoch,
        .batch_size = 8,
    };
    uint64_t batch[8], first;
    size_t count, i;
    statesampler s;
    int code = statesampler_init(&s, &desc);

    while (code == STATESAMPLER_OK && statesampler_next(&s, batch, &count))
        for (i = 0; i < count; i++) {
            first = batch[i] * T +
                    statesampler_sample_seed(&s, epoch, STATESAMPLER_NONE) % T;
            train_window(find_group(DOCUMENTS, first), first, first + T + 1);
        }
    return code;
}

static void check_read_windows(void)
{
    uint64_t epoch, shift[3], n = (TOKENS / T - 1) * T;
    int so = 1;

    for (epoch = 0; epoch < 3; epoch++) {
        make_groups(DOCUMENTS, 300, 700);
        first_window = TOKENS;
        windows_fit = 1;
        example_must(read_windows(epoch));
        shift[epoch] = first_window;
        so = so && windows_fit && num_trained == n && shift[epoch] < T &&
             each_served(shift[epoch], shift[epoch] + n, 1);
    }
    say(so && shift[0] != shift[1] && shift[1] != shift[2],
        "token windows: each token once in an epoch; each epoch cuts at "
        "other places");
}

/* --- Tar files ------------------------------------------------------------ */

#define FILES 40u
#define CHUNK 50u
#define WINDOW 4u

static uint64_t used[FILES]; /* bit w: in window w */

/* Yours: trains on one sample of a file. */
static void train_member(uint64_t file, uint64_t member)
{
    uint64_t sample = sums[file] - size[file] + member;

    used[file] |= (uint64_t)1 << num_trained / (CHUNK * WINDOW);
    train(&sample, 1);
}

/* Reads files of unequal size with few open at a time: those that hold samples
   of WINDOW chunks, each of CHUNK consecutive samples. */
static int read_files(void)
{
    const statesampler_desc desc = {
        .num_samples = sums[FILES - 1],
        .seed = 42,
        .batch_size = 16,
        .order = STATESAMPLER_ORDER_WINDOW,
        .chunk_size = CHUNK,
        .window = WINDOW,
    };
    uint64_t batch[16], file;
    size_t count, i;
    statesampler s;
    int code = statesampler_init(&s, &desc);

    while (code == STATESAMPLER_OK && statesampler_next(&s, batch, &count))
        for (i = 0; i < count; i++) {
            file = find_group(FILES, batch[i]);
            train_member(file, batch[i] - (sums[file] - size[file]));
        }
    return code;
}

static void check_read_files(void)
{
    uint64_t window, file;
    unsigned open, most = 0;

    make_groups(FILES, 30, 70);
    memset(used, 0, sizeof used);
    example_must(read_files());
    for (window = 0; window < 64; window++) {
        for (open = 0, file = 0; file < FILES; file++) {
            open += (unsigned)(used[file] >> window & 1);
        }
        most = open > most ? open : most;
    }
    /* There are at most 64 windows. A chunk touches at most 3 files, as each
       has 30 samples or more. */
    say(sums[FILES - 1] <= 64 * CHUNK * WINDOW && most <= 3 * WINDOW &&
            each_served(0, sums[FILES - 1], 1),
        "tar files: each sample once, at most 12 of 40 files open");
}

/* --- Episodes ------------------------------------------------------------- */

#define EPISODES 40u
#define BEFORE 3u
#define AFTER 8u

static uint64_t length[EPISODES];
static int frames_fit = 1;

/* Yours: trains on a frame and those around it. */
static void train_frame(uint64_t episode, uint64_t frame)
{
    uint64_t sample = episode * 100 + frame;

    frames_fit =
        frames_fit && frame >= BEFORE && frame + AFTER < length[episode];
    train(&sample, 1);
}

/* Trains on the frames with BEFORE frames before them and AFTER after them. */
static int train_episodes(void)
{
    statesampler_desc desc = {.seed = 42, .batch_size = 16};
    uint64_t batch[16], k, sum = 0;
    size_t count, i;
    statesampler s;
    int code;

    for (k = 0; k < EPISODES; k++) {
        size[k] = length[k] > BEFORE + AFTER ? length[k] - BEFORE - AFTER : 0;
        sums[k] = sum += size[k];
    }
    desc.num_samples = sum;
    code = statesampler_init(&s, &desc);
    while (code == STATESAMPLER_OK && statesampler_next(&s, batch, &count))
        for (i = 0; i < count; i++) {
            k = find_group(EPISODES, batch[i]);
            train_frame(k, BEFORE + batch[i] - (sums[k] - size[k]));
        }
    return code;
}

static void check_train_episodes(void)
{
    uint64_t k, frames = 0;
    int so = 1;

    begin_counts();
    for (k = 0; k < EPISODES; k++) {
        length[k] = k * k * 7 % 100; /* some are too short */
    }
    example_must(train_episodes());
    for (k = 0; k < EPISODES; k++) {
        if (length[k] > BEFORE + AFTER) {
            so = so &&
                 each_served(k * 100 + BEFORE, k * 100 + length[k] - AFTER, 1);
            frames += length[k] - BEFORE - AFTER;
        }
    }
    say(so && frames_fit && num_trained == frames,
        "episodes: each frame with 3 before it and 8 after it, once");
}

int main(int argc, char **argv)
{
    example_begin(argc, argv, 0, usage);
    check_find_group();
    check_take_classes();
    check_read_windows();
    check_read_files();
    check_train_episodes();
    return recipes_end();
}
