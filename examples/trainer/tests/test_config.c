/* test_config.c - the trainer's configuration: a corpus of bad and of good
   texts, and texts that are changed at random.

       config corpus FILE...        lists of cases, as config/bad.txt
       config random COUNT FILE...  what is read prints and reads back
       config keys                  what the table says
       config print FILE [PATH=VALUE]...   exits with 2 for an error

   A line of a list begins a case (@ and its name), belongs to its text, or
   is one of these:
       + PATH=VALUE     an argument, after the text
       ! NUMBER         so many processes
       = SENTENCE       the error, after `bad.yaml` for the text
       > PATH VALUE     what is then printed for a key
       ~ A B C D E      the world size, the global batch, ZeRO's stage, O0 or
                        O1 and the number of splits, which follow
   <FF> stands for a byte, by its hexadecimal number. */
#define _POSIX_C_SOURCE 200809L /* open_memstream */

#include "../config.h"
#include "config_texts.h"

enum { TEXT = 1 << 20, LINES = 32 };

/* --- Helpers -------------------------------------------------------------- */

static void read_all(const char *name, char *text, size_t *size)
{
    FILE *from = fopen(name, "rb");

    CHECK(from != NULL);
    *size = fread(text, 1, TEXT - 1, from);
    text[*size] = 0;
    CHECK(*size < TEXT - 1);
    fclose(from);
}

/* --- The corpus ----------------------------------------------------------- */

struct test_case {
    char name[128];
    char text[8192];
    size_t size;
    char *arguments[LINES], *values[LINES];
    int num_arguments, num_values;
    char *error, *follows;
    long processes;
};

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* Adds a line, without its end, and with its bytes for <FF>. */
static void add_line(struct test_case *test, const char *line)
{
    while (*line != 0) {
        CHECK(test->size + 2 < sizeof test->text);
        if (line[0] == '<' && hex_digit(line[1]) >= 0 &&
            hex_digit(line[2]) >= 0 && line[3] == '>') {
            test->text[test->size++] =
                (char)(hex_digit(line[1]) * 16 + hex_digit(line[2]));
            line += 4;
        } else {
            test->text[test->size++] = *line++;
        }
    }
    test->text[test->size++] = '\n';
}

static void check_values(const struct test_case *test,
                         const struct trainer_config *config)
{
    int i;

    for (i = 0; i < test->num_values; i++) {
        char found[4096] = "", *space = strchr(test->values[i], ' ');
        FILE *to = tmpfile();
        size_t size;
        uint32_t key;

        CHECK(to != NULL && space != NULL);
        *space = 0;
        key = config_key_number(test->values[i]);
        CHECK(key < CONFIG_KEYS);
        config_print_key(config, key, to);
        rewind(to);
        size = fread(found, 1, sizeof found - 1, to);
        found[size] = 0;
        fclose(to);
        if (strcmp(found, space + 1) != 0) {
            printf("%s: %s is %s, not %s\n", test->name, test->values[i], found,
                   space + 1);
            exit(1);
        }
        check_count++;
    }
}

static void check_follows(const struct test_case *test,
                          const struct trainer_config *config)
{
    char found[128];

    snprintf(found, sizeof found, "%lld %lld %d %d %lld",
             (long long)config->world_size, (long long)config->global_batch,
             config->zero_stage, config->half, (long long)config->splits);
    if (test->follows != NULL && strcmp(found, test->follows) != 0) {
        printf("%s: %s follows, not %s\n", test->name, found, test->follows);
        exit(1);
    }
}

/* Whether each step goes as it should. */
static void run_case(struct test_case *test)
{
    static struct trainer_config config;
    bool good;
    int i;

    config = config_defaults;
    good = config_read_text(&config, "bad.yaml", test->text, test->size);
    for (i = 0; good && i < test->num_arguments; i++) {
        good = config_override(&config, test->arguments[i]);
    }
    good = good && config_check(&config, test->processes);
    if (good != (test->error == NULL) ||
        (!good && strcmp(config.error, test->error) != 0)) {
        const char *wanted = test->error ? test->error : "no error";

        printf("%s:\n    %s\n    instead of\n    %s\n", test->name,
               good ? "no error" : config.error, wanted);
        exit(1);
    }
    check_count++;
    if (good) {
        check_values(test, &config);
        check_follows(test, &config);
        check_round_trip(&config);
    }
}

/* Where an error begins that is about the text: with its line, or with what
   stands before a colon. */
static const char *place_of(const char *error)
{
    if (error[0] >= '0' && error[0] <= '9')
        return "bad.yaml:";
    return error[0] == ':' ? "bad.yaml" : "";
}

/* A line of a list: all but its mark, kept as long as the list's text is. */
static void take_line(struct test_case *test, char *line)
{
    static char full[2048];

    switch (line[0] != 0 && line[1] == ' ' ? line[0] : 0) {
    case '+':
        CHECK(test->num_arguments < LINES);
        test->arguments[test->num_arguments++] = line + 2;
        break;
    case '>':
        CHECK(test->num_values < LINES);
        test->values[test->num_values++] = line + 2;
        break;
    case '~':
        test->follows = line + 2;
        break;
    case '!':
        test->processes = atol(line + 2);
        break;
    case '=':
        snprintf(full, sizeof full, "%s%s", place_of(line + 2), line + 2);
        test->error = full;
        break;
    default:
        add_line(test, line);
    }
}

static unsigned long run_list(const char *name)
{
    static char text[TEXT];
    static struct test_case test;
    unsigned long cases = 0;
    char *line, *end;
    size_t size;

    read_all(name, text, &size);
    for (line = text; *line != 0; line = end + 1) {
        end = strchr(line, '\n');
        CHECK(end != NULL);
        *end = 0;
        if (line[0] == '@') {
            if (cases > 0) {
                run_case(&test);
            }
            memset(&test, 0, sizeof test);
            snprintf(test.name, sizeof test.name, "%s: %s", name, line + 2);
            cases++;
        } else if (cases > 0) {
            take_line(&test, line);
        }
    }
    run_case(&test);
    return cases;
}

/* --- Texts that are changed at random ------------------------------------- */

static void run_random(unsigned long count, char **files, int num_files)
{
    static char original[TEXT], text[TEXT];
    static struct trainer_config config;
    unsigned long i, good = 0;

    for (i = 0; i < count; i++) {
        uint64_t changes = 1 + check_random(4);
        size_t size;

        read_all(files[i % (unsigned long)num_files], original, &size);
        memcpy(text, original, size);
        for (; changes > 0; changes--) {
            change(text, &size);
        }
        config = config_defaults;
        if (config_read_text(&config, "text", text, size) &&
            config_check(&config, 0)) {
            good++;
            check_round_trip(&config);
        } else {
            CHECK(strncmp(config.error, "text:", 5) == 0);
            CHECK(strlen(config.error) > 12);
        }
        check_count++;
    }
    printf("%lu of %lu texts were good\n", good, count);
    CHECK(good > count / 50 && good < count);
}

/* --- By hand -------------------------------------------------------------- */

static int print_file(int argc, char **argv)
{
    static struct trainer_config config;
    bool good;
    int i;

    config = config_defaults;
    good = config_read(&config, argv[0]);
    for (i = 1; good && i < argc; i++) {
        good = config_override(&config, argv[i]);
    }
    if (!good || !config_check(&config, 0)) {
        fprintf(stderr, "%s\n", config.error);
        return 2;
    }
    config_print(&config, stdout);
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    unsigned long cases = 0;
    int i;

    if (strcmp(what, "keys") == 0) {
        config_keys(stdout);
        return 0;
    }
    if (strcmp(what, "print") == 0 && argc > 2) {
        return print_file(argc - 2, argv + 2);
    }
    if (strcmp(what, "corpus") == 0) {
        for (i = 2; i < argc; i++) {
            cases += run_list(argv[i]);
        }
        printf("%lu cases\n", cases);
    } else if (strcmp(what, "random") == 0 && argc > 3) {
        run_random(strtoul(argv[2], NULL, 10), argv + 3, argc - 3);
    }
    return check_done("test_config");
}
