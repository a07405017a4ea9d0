# into.sh - the header in other people's programs: examples/into.

# Succeeds if the command fails with this among what it says.
fails() { # TEXT COMMAND...
    text=$1
    shift
    if "$@" >said 2>&1; then
        echo "did not fail: $*"
        return 1
    fi
    grep -qF -e "$text" said || {
        echo "not '$text' but:"
        cat said
        return 1
    }
}

# --- What kills, and what names a commit --------------------------------------

# kills.sh must tell a program that goes on from one that forgets something.
kills_tell() {
    cat >count.sh <<'END'
n=$(cat "$2" 2>/dev/null || echo 0) first=$n
while [ "$n" -lt 30 ]; do
    sleep 0.01
    n=$((n + 1))
    echo $n >new
    mv new "$2"
done
[ "$1" = keeps ] || [ "$first" -eq 0 ] || echo forgot >>"$2"
[ "$3" != wrong ]
END
    kills='sh examples/into/kills.sh 5 file'
    quietly $kills 'a b' sh count.sh keeps
    grep -q '^kills.sh: 5 SIGKILLs, shapes a b: file is the same' said
    fails 'is not what it is without a kill' \
        $kills 'a b' sh count.sh forgets
    fails 'failed before it was killed' $kills wrong sh count.sh keeps
    fails 'failed after' $kills 'a a a a a a wrong wrong wrong wrong' \
        sh count.sh keeps
    echo '[ -e "$1.whole" ] || sleep 1; : >"$1"' >quick.sh
    fails 'ends too soon to be killed' $kills a sh quick.sh
}

# commit.sh on a clone at a page's commit, at another, and on what is none.
commits_tell() {
    mkdir -p pages/page clone none
    cp examples/into/commit.sh pages
    (
        cd clone && git init -q . && echo text >file && git add file &&
            git -c user.name=a -c user.email=a commit -q -m first &&
            git rev-parse HEAD
    ) >commit
    tell='sh pages/commit.sh page'
    echo "At commit $(cat commit) of it." >pages/page/README.md
    quietly $tell clone
    grep -qx "commit.sh: clone is at commit $(cat commit)" said
    echo more >>clone/file
    quietly $tell clone
    grep -q 'with changes of its own$' said
    fails "none is not a clone: page's page is about commit " $tell none
    sed 's/[0-9a-f]\{40\}/0123456789012345678901234567890123456789/' \
        pages/page/README.md >other
    mv other pages/page/README.md
    fails "clone is at commit $(cat commit): page's page is about 01234" \
        $tell clone
    for page in examples/into/*/; do
        page=$(basename $page)
        grep -q commit.sh examples/into/$page/README.md || continue
        fails "'s page is about commit " sh examples/into/commit.sh $page none
    done
}

# --- Games --------------------------------------------------------------------

sequence() { # COMMAND...
    "$@" $STRICT -O1 -I. -o sequence examples/into/tests/sequence.c && quietly ./sequence
}

# Runs the first commands that a page shows, perhaps changed by sed.
commands_of() { # PAGE [CHANGE]
    awk '/^    / { print; found = 1; next } found { exit }' \
        "examples/into/$1/README.md" | sed "$2" >commands
    at_least 3 "$(wc -l <commands)" commands
    quietly sh -e ./commands
    sed -n 's/^kills.sh: /note: /p' said
}

# The program of the page, killed and resumed with other players.
game() {
    $CC -std=c99 $STRICT -I. -fsyntax-only examples/into/games/game.c
    commands_of games
    printf x | dd of=build/game.saved bs=1 seek=10 conv=notrunc 2>said
    fails 'this state was not saved with these' build/game build/game.saved
    fails "'9' is not 1 to 8 players" build/game build/game.saved 9
}

# No artist follows itself; what has no such order is refused.
artists() {
    $CC -std=c99 $STRICT -O1 -I. -o artists examples/into/games/artists.c
    quietly ./artists
    sed -n 's/^of 1/note: of 1/p' said | grep ' and 0 here;'
    for songs in '3 2 2' '1 1 1' '2 1 1 1' '50 49 2' '1 33 40 7'; do
        quietly ./artists $songs
        grep -q ' and 0 here;' said
    done
    for songs in '2 1 1' '50 50' '1' '9 4'; do
        fails 'an artist with half of the songs must follow' ./artists $songs
    done
    fails 'these are more than 1000 songs' ./artists 500 501
    fails "'0' is not a number from 1 to 1000" ./artists 3 0
    # The page has what it prints.
    quietly ./artists
    sed '$d; s/^/    /' said >shown
    at_least 2 "$(wc -l <shown)" lines
    sed -n '/^    of 1/,/^$/{ /./p; }' examples/into/games/README.md |
        diff shown -
}

# The page's table is that of bench/FIGURES.md.
game_table() {
    sed -n '/^<!-- figures -->$/,/^<!-- .figures -->$/p' \
        examples/into/games/README.md | sed '1d;$d' >page
    at_least 8 "$(wc -l <page)" lines
    sed -n '/^| ns for each item/,/^$/{ /./p; }' "$root/bench/FIGURES.md" \
        >figures
    diff figures page
}

# --- FANN ---------------------------------------------------------------------

# Killed with other batch sizes; on other data; on a file of FANN's own.
fann() {
    $CC -std=c99 $STRICT -I. -fsyntax-only examples/into/fann/train.c
    commands_of fann
    saved=build/fann.saved
    fails 'the state has another num_samples' build/fann $saved 500 20001
    fails 'the state has another stream' build/fann $saved 500 20000 3
    head -c 1000 $saved >short
    fails 'the state is damaged' build/fann short
    $CC -std=c99 -o own -x c - -lfann -lm <<'END'
#include <floatfann.h>
int main(void)
{
    return fann_save(fann_create_standard(3, 8, 16, 1), "own.net") ||
           fann_save(fann_create_standard(3, 8, 100, 1), "large.net") ||
           fann_save(fann_create_standard(3, 5, 23, 1), "other.net");
}
END
    ./own
    head -c 500 own.net >cut.net
    for net in cut large other; do
        fails "$net.net is no network of these layers" build/fann $net.net
    done
    quietly build/fann own.net
    grep -q '^own.net has weights and no place in an epoch: epoch 0 b' said
}

fann_header() { # COMMAND...
    "$@" $STRICT -O1 -I. -o header examples/into/tests/fann_sampler.c -lfann -lm
    quietly ./header
}

fann_compared() {
    $CC -std=c99 $STRICT -O2 -I. -o compare examples/into/fann/compare.c \
        -lfann -lm
    quietly ./compare
    sed -n "s/^FANN's shuffle  */note: orders of three come with /p" said
}

# --- faiss --------------------------------------------------------------------

faiss_links='-lfaiss -llapack -lblas -fopenmp'
# Its threads wait by turning round, which here takes others' time.
export OMP_NUM_THREADS=1

# Killed with other readers; on other data; on centroids alone.
faiss() {
    commands_of faiss "s/^c++ /&$(echo $STRICT) /"
    saved=build/faiss.saved
    fails 'the state has another num_samples' build/faiss $saved 1 200001
    head -c 1000 $saved >short
    fails 'the size of the state or file is wrong' build/faiss short
    fails 'the state has another stream' build/faiss $saved 1 200000 2
    fails 'READERS is no divisor of 16384' build/faiss $saved 3
    fails "'1x' is not a number from 1 to" build/faiss $saved 1x
    fails "'99999999999' is not a number from 16384 to" \
        build/faiss $saved 1 99999999999
    tail -c 4096 $saved >centroids
    quietly build/faiss centroids
    grep -q '^centroids has centroids and no place in an epoch: epoch 0 b' said
}

faiss_header() { # COMMAND...
    "$@" $STRICT -O1 -I. -o subset examples/into/tests/faiss_subset.c
    quietly ./subset
}

faiss_compared() {
    g++ -std=c++17 $STRICT -O1 -I. -o compare examples/into/faiss/compare.cpp \
        $faiss_links
    quietly ./compare
    # The page has the bytes that it prints.
    awk '/^(10|2)\^/ { print $1, $NF }' said >bytes
    at_least 4 "$(wc -l <bytes)" lines
    awk '/^(10|2)\^/ { print $1, $NF }' examples/into/faiss/README.md |
        diff bytes -
    awk '$1 == "10^7" { print "note: of 10^7 in " $5 " ms, not " $2 }' said
    echo '#include "statesampler.h"
#include "examples/into/faiss/faiss_subset.h"' |
        $CC -std=c99 $STRICT -I. -fsyntax-only -x c -
}

# --- llm.c --------------------------------------------------------------------

# The loader on shards of the test's own.
loader() {
    $CC -std=c99 $STRICT -O1 -I. -o loader examples/into/tests/dataloader.c
    quietly ./loader
}

# The program of the page, killed and resumed as another number of processes;
# then its losses, and what it is to refuse.
bigrams() {
    $CC -std=c99 $STRICT -I. -fsyntax-only examples/into/llm.c/bigrams.c
    commands_of llm.c
    cd build
    grep '^step' saved.whole.log >whole
    at_least 300 "$(wc -l <whole)" steps
    grep '^step' saved.log | sort -u >killed
    sort whole | diff - killed
    grep -q 'saved.model has weights only: this begins at the start of epoch 0' \
        saved.whole.log
    fails "is not 1, 2, 4 or 8 processes" ./bigrams saved 3
    cp saved other
    for k in 0 1 2 3 4; do cp saved.$k other.$k; done
    cp saved.3 other.2
    fails 'other: the state has another num_samples' ./bigrams other
    cp saved.2 other.2
    head -c 1500 saved.3 >other.3
    fails 'other.3: it is no shard of tokens, or is cut off' ./bigrams other
    cp saved.3 other.3
    printf x | dd of=other.1 bs=1 seek=1040 conv=notrunc 2>said
    fails 'other: the state has another stream' ./bigrams other
    cp saved.1 other.1
    head -c 9000 saved >other
    fails 'other: it has another number of weights' ./bigrams other
    cp saved.0 other
    fails 'other: it is no model of version 3' ./bigrams other
}

# What edits.sed makes of the lines that train_gpt2.c has at these places: a
# program that saves where it is told to, and leaves no file if it is not.
gpt2_edited() {
    sed 's/ *$//' >lines <<'END'
29 #include "llmc/dataloader.h"
30 typedef struct {
31     size_t num_parameters;
32     float *params_memory, *m_memory, *v_memory;
33 } GPT2;
34 static void gpt2_build_from_checkpoint(GPT2 *model, const char *path)
35 {
36     printf("from %s\n", path);
37     model->num_parameters = 3;
38     model->params_memory = (float *)calloc(3, sizeof(float));
39     model->m_memory = (float *)calloc(3, sizeof(float));
40     model->v_memory = (float *)calloc(3, sizeof(float));
41 }
1077 int main() {
1079     GPT2 model;
1080     DataLoader train_loader;
1081     gpt2_build_from_checkpoint(&model, "gpt2_124M.bin");
1094     dataloader_init(&train_loader, "shard", 2, 8, 0, 1, 1);
1110     for (int step = 0; step <= 40; step++) {
1170         dataloader_next_batch(&train_loader);
1171         printf("step %d\n", step);
1172     }
1173     dataloader_free(&train_loader);
1174     return 0;
1175 }
END
    awk '{ n = $1; sub(/^[0-9]+ /, ""); while (++line < n) print ""; print }' \
        lines >train_gpt2.c
    mkdir llmc
    cp statesampler.h examples/into/llm.c/*.h llmc
    sed -f examples/into/llm.c/edits.sed train_gpt2.c >edited.c
    $CC -std=gnu99 -Wall -Wextra -Werror -I. -o edited edited.c
    # A model of three weights, and a shard of 4,000 tokens.
    { printf '\306\327\064\001\003' && head -c 1031 /dev/zero; } >gpt2_124M.bin
    { printf '\210\330\064\001\001\0\0\0\240\017' && head -c 9014 /dev/zero
    } >shard
    : >said
    : >said
    ls >before
    quietly ./edited
    grep -q '^from gpt2_124M.bin$' said
    at_least 41 "$(grep -c '^step ' said)" steps
    ls | diff before -
    quietly ./edited run.bin
    grep -q '^from gpt2_124M.bin$' said
    quietly ./edited run.bin
    grep -q '^from run.bin$' said
    grep '^step' said | nothing
}

# --- ggml ---------------------------------------------------------------------

split_test() { # COMMAND...
    "$@" $STRICT -O1 -I. -o split examples/into/tests/split.c
    quietly ./split
}

# The program of the page, where ggml is installed.
ggml() {
    $CC -std=c99 $STRICT -I. -fsyntax-only \
        $(pkg-config --cflags ggml | sed 's/-I/-isystem /g') \
        examples/into/ggml/train.c
    commands_of ggml
    head -c 500 build/ggml.saved >short
    fails 'the state is damaged' build/ggml short
    $CC -std=c99 -o own -x c - \
        $(pkg-config --cflags --libs ggml) -lggml-base <<'END'
#include <ggml.h>
#include <gguf.h>
static void save(const char *name, enum ggml_type type, int width)
{
    struct ggml_init_params size = {1 << 20, NULL, false};
    struct ggml_tensor *t = ggml_new_tensor_2d(ggml_init(size), type, width, 5);
    struct gguf_context *file = gguf_init_empty();
    ggml_set_zero(ggml_set_name(t, "weights"));
    gguf_add_tensor(file, t);
    gguf_write_to_file(file, name, false);
}
int main(void)
{
    save("own.gguf", GGML_TYPE_F32, 8);
    save("half.gguf", GGML_TYPE_F16, 16);
    return 0;
}
END
    ./own
    fails 'the state is damaged' build/ggml half.gguf
    quietly build/ggml own.gguf
    grep -q '^own.gguf has weights only: epoch 0 begins at its start' said
    cmp own.gguf build/ggml.saved
}

# --- libtorch -----------------------------------------------------------------

torch_include=/usr/include/torch/csrc/api/include

# All in one, as the compilation takes ten seconds, and each start half of one.
# So it is killed fewer times than on the page, and on three datasets. Other
# data; another sampler's archive.
libtorch() {
    commands_of libtorch "s/^c++ /&$(echo $STRICT) /
        s/kills.sh 20 /kills.sh 6 /; s/libtorch one/libtorch mix/"
    libtorch=build/libtorch saved=build/libtorch.saved
    fails 'the state has another num_samples' $libtorch mix $saved 1x0 2484
    fails 'the state has another stop rule' $libtorch one $saved
    for size in 71 -1; do
        fails "'$size' is not a SIZE" $libtorch mix none 1x0 $size
    done
    quietly $libtorch own own
    quietly $libtorch one own
    grep -q 'the archive has no place in an epoch; epoch 0 begins at its' said
}

# --- Pages --------------------------------------------------------------------

# A page says of a file "[NAME](PATH), N lines".
lines_told() {
    for page in examples/into/*/README.md; do
        tr '\n' ' ' <"$page" |
            grep -oE '\[[a-z_.]+\]\([a-z_./]+\),? [0-9]+ lines' |
            tr -c 'a-z_./0-9\n' ' ' | while read -r name file lines rest; do
            echo "$lines ${page%README.md}$file"
        done
    done >told
    at_least 1 "$(wc -l <told)" 'files with their lines'
    while read -r lines file; do
        echo "$(wc -l <"$file") $file"
    done <told | diff told -
}

list_tests() {
    add_test 'kills.sh tells what goes on from what forgets' kills_tell
    if tool git 'the commits of examples/into'; then
        add_test 'commit.sh tells the commit of a page from others' commits_tell
    fi
    add_test "games: raylib's sequences, each number once" sequence $CC -std=c99
    if tool g++ "raylib's sequences in C++"; then
        add_test "games: raylib's sequences in C++" sequence g++ -x c++ -std=c++98
    fi
    add_test 'games: killed 20 times, other players' game
    add_test 'games: no artist twice in a row' artists
    add_test 'games: the table of the page is that of the bench' game_table
    if library c floatfann.h FANN; then
        add_test 'FANN: killed 20 times, other batch sizes; bad files' fann
        add_test 'FANN: the weights of a plain loop' fann_header $CC -std=c99
        ! tool g++ 'FANN in C++' ||
            add_test 'FANN: the same in C++' fann_header g++ -x c++ -std=c++98
        add_test 'FANN: its own shuffle is not fair, fann_sampler.h is' fann_compared
    fi
    add_test 'faiss: no vector twice in an epoch, any readers' \
        faiss_header $CC -std=c99
    ! tool g++ 'faiss_subset.h in C++' ||
        add_test 'faiss: the same in C++' faiss_header g++ -x c++ -std=c++98
    if tool g++ faiss && library c++ faiss/Clustering.h faiss; then
        add_test 'faiss: killed 20 times, other readers; bad files' faiss
        add_test 'faiss: subsets of distinct vectors, beside rand_perm' \
            faiss_compared
    fi
    add_test "llm.c: a loader's sequences, each once in any shape" loader
    add_test 'llm.c: killed 20 times, other numbers of processes' bigrams
    add_test 'llm.c: the lines that change in train_gpt2.c' gpt2_edited
    add_test 'ggml: a split, each sample once an epoch' split_test $CC -std=c99
    ! tool g++ 'a split in C++' ||
        add_test 'ggml: a split in C++' split_test g++ -x c++ -std=c++98
    if pkg-config --exists ggml 2>/dev/null; then
        add_test 'ggml: killed 20 times, other numbers of threads' ggml
    else
        skip 'the program on ggml' ggml
    fi
    if tool g++ libtorch && library c++ torch/data.h libtorch \
        -isystem $torch_include; then
        add_test 'libtorch: killed 6 times, other ranks and workers; bad files' \
            libtorch
    fi
    in_each_language 'each header of examples/into alone' \
        each_alone "'examples/into/*/*.h'"
    ! tool clang 'sanitizers of examples/into' ||
        add_test 'no sanitizer reports anything of examples/into' \
            sanitized "'examples/into/tests/*.c'"
    add_test 'every block of C about games is part of a program there' \
        quotes examples/into/games/README.md examples/into/games
    add_test 'the lines that pages of examples/into tell' lines_told
}
