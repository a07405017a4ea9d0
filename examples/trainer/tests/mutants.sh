#!/bin/sh
# mutants.sh - breaks the trainer on purpose, each time in one place; the
# question named must notice. `make trainer-mutants`, from the root of the
# repository; ONLY=pattern takes only the faults that it matches.

root=$PWD
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
cp -a statesampler.h README.md LICENSE Makefile examples tests "$folder"
mkdir -p "$folder/build"
cp -a build/trainer "$folder/build"
cd "$folder" || exit 1
noticed=0 missed=0

# A question of runs.sh, or test_NAME.
asked() { # QUESTION
    case $1 in
    test_*)
        make -s "build/trainer/test/${1#test_}" &&
            OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
                timeout -k 5 100 "build/trainer/test/${1#test_}" ;;
    *)
        sh examples/trainer/tests/runs.sh build/trainer/trainer \
            examples/trainer/tests/small.yaml "$1" ;;
    esac
}

fault() { # WHAT FILE QUESTION SED
    echo "$1" | grep -q "${ONLY:-.}" || return
    sed -i "$4" "examples/trainer/$2"
    if cmp -s "examples/trainer/$2" "$root/examples/trainer/$2"; then
        echo "FAIL $1: nothing was changed"
        missed=$((missed + 1))
    elif ! make -s build/trainer/trainer 2>errors; then
        echo "FAIL $1: it does not compile"
        cat errors
        missed=$((missed + 1))
    elif asked "$3" >said 2>&1; then
        echo "FAIL $1: $3 did not notice"
        missed=$((missed + 1))
    else
        echo "ok   $1: $3 noticed: $(grep -a FAIL said | head -n 1)"
        noticed=$((noticed + 1))
    fi
    cp "$root/examples/trainer/$2" "examples/trainer/$2"
}

fault 'not rounded to integers of 2^-40' reduce.c test_steps \
    's/#define PARTS 1099511627776.0/#define PARTS 1048576.0/'
fault 'floats instead of integers' reduce.c processes \
    's/sums\[i\] += x.bits - shift_bits;/sums[i] = (int64_t)(float)(sums[i] + (x.bits - shift_bits));/'
fault 'a product'\''s shape follows W' model.c processes \
    's/#include <string.h>/&\n#include <stdlib.h>/
    /^static void layer(/,/^}/{
        s/size_t row;/size_t row, w = rows + 1 - (size_t)atoi(getenv("OMPI_COMM_WORLD_SIZE"));/
        s/ b, rows, outputs, inputs, 1);/ b, w, outputs, inputs, 1);\n    if (w < rows)\n        multiply(out + w * outputs, outputs, (matrix){in + w * inputs, inputs, 0}, b, rows - w, outputs, inputs, 1);/
    }'
fault 'momentum is not saved' checkpoint.c elsewhere \
    's/place, is->array\[i\], size,/place, is->array[move == write_part ? 0 : i], size,/'
fault 'the sampler state is not restored' checkpoint.c elsewhere \
    '/wrong = feed_load(/,/;/c wrong = "";'
fault 'the scale is not saved' checkpoint.c elsewhere \
    's/r->scaler.scale = h->loss_scale;//'
fault 'unskipped is not saved' checkpoint.c elsewhere \
    's/r->scaler.unskipped = .*/;/'
fault 'the audit is not saved' feed.c elsewhere \
    's/memcpy(&f->served, state + mix, served_bytes(f));/;/'
fault 'the audit does not see a sequence' feed.c processes \
    's/f->batch, kept)/f->batch, kept \/ 2)/'
fault 'a process reads all tensors' checkpoint.c parts \
    's/is->mine && !\*wrong/(is->mine || move == read_part) \&\& !*wrong/'
fault 'the texts are not compared' checkpoint.c foreign \
    's/s->head->texts != s->r->text.hash/0/'
fault 'keys of the sampler are not compared' config_keys.h foreign \
    's/USE_DEBUGGING_SAMPLER", BOOL, RUN/USE_DEBUGGING_SAMPLER", BOOL, FREE/'
fault 'the number of machines must be the same' config_print.c foreign \
    's/was.num_nodes = is.num_nodes = 1;//'
fault 'two processes read all tensors of three' checkpoint.c parts \
    's/is->mine && !\*wrong/(is->mine || (move == read_part \&\& s->r->world == 2)) \&\& !*wrong/'
fault 'reduce_buffer_size is not obeyed' reduce.c memory \
    's/config->zero_stage == 2 && elements >= 0/elements < -1/'
fault 'a hash is not checked' checkpoint.c damaged \
    's/was == hash(.*))/1)/'
fault 'a tensor of another step stands in' checkpoint.c damaged \
    's/TEXT_HASH ^ s->head->step/TEXT_HASH/'
fault 'weight decay is kept where LARC has no norm' optimizer.c test_steps \
    's/const float decay = c->use_larc ? 0 : /const float decay = /'
fault 'LARC'\''s norm is over a part' optimizer.c test_steps \
    's/length = norm(weight, t->size)/length = norm(weight, t->size \/ 2)/'
fault 'a power of a gradient leaves a double'\''s range' optimizer.c \
    test_steps \
    's/const double x = fabs((double)values\[i\]) \/ largest;/const double x = fabs((double)values[i]);/; s/return largest \* pow/return pow/'
fault 'a segment begins from a wrong input' model.c test_model \
    's/memcpy(m->stream, m->inputs\[s\], size)/memcpy(m->stream, m->inputs[0], size)/'
fault 'rounding to half is left out where a segment is computed again' model.c \
    test_model \
    's/ segment_forward(m, s, 1);/ const int was = m->half; m->half = 0; segment_forward(m, s, 1); m->half = was;/'
fault 'an overflow is seen by one process only' reduce.c sharded_o1 \
    's/MPI_Allreduce(MPI_IN_PLACE, r->totals, REDUCE_TOTALS/MPI_Allreduce(MPI_IN_PLACE, r->totals, 1/'
fault 'a gradient is wrong: GELU' kernels.c test_gradients \
    's/1 + 3 \* GELU_CUBIC/1 + 2 * GELU_CUBIC/'
fault 'a bucket is left out' reduce.c ways \
    's/r->rest > 0 && t-- > 0/r->rest > 0 \&\& t-- > 1/'
fault 'the log is not cut back' log.c elsewhere \
    's/(long)r->log_bytes, SEEK_SET/0, SEEK_SET/; s/ftruncate(fileno(r->log), (off_t)r->log_bytes) != 0/0/'
fault 'the folder is not locked' log.c locked \
    's/return fcntl(file, waits/return 1 || fcntl(file, waits/'
fault 'another start does not wait for the lock' log.c locked \
    's/waits ? F_SETLKW/0 ? F_SETLKW/'
fault 'the rate counts steps of an epoch twice' run.c twice \
    's/(&r->config, done, steps)/(\&r->config, r->step, steps)/'
fault 'a log that is changed is saved' log.c changed \
    's/hash == r->log_hash/1/'
fault 'a log that another writes to is saved' log.c changed \
    's/(uint64_t)there.st_size != r->log_bytes/0/'
fault 'a log that is taken away is saved' log.c changed \
    's/stat(r->log_path, &there) != 0 ||/(stat(r->log_path, \&there) != 0 \&\& (there.st_size = (off_t)r->log_bytes, 0)) ||/'
fault 'lines that the log has lost are not missed' checkpoint.c lost_log \
    's/wrong = log_check(r, &s->ends);/wrong = "";/'
fault 'what a link leads to is emptied' checkpoint.c alone \
    's/O_EXCL/O_TRUNC/'
fault 'a name that a killed run gave is not flushed' checkpoint.c unread \
    's/? checkpoint_flush(dir) : ""/? "" : ""/'
fault 'a folder that cannot be read is empty' checkpoint.c unread \
    's/return cannot("read the folder", dir);/return "";/'
fault 'a file that may not be read is damaged' checkpoint.c unread \
    '/^static const char \*open_file/,/^}/s/s->ends = 1;//'
fault 'a folder ends where reading it fails' checkpoint.c unread \
    's/errno != 0 ? cannot("read the folder", dir)/errno < 0 ? ""/'
fault 'a file is damaged when reading it fails' checkpoint.c unread \
    's/found && !ferror(s->file)/found/'
fault 'a log is the trainer'\''s when reading it fails' log.c unread \
    's/return ferror(r->log) ?/return 0 ?/'
fault 'a limit on the size of files kills' log.c limited \
    's/signal(SIGXFSZ, SIG_IGN);//'
fault 'a save that fails leaves what it has written' checkpoint.c limited \
    's/if (\*wrong && r->rank == 0)/if (0)/'
fault 'another release is not noticed' checkpoint.c unread \
    's/if (whole && strncmp(h.format, FORMAT/if (0 \&\& strncmp(h.format, FORMAT/'
fault 'an intact checkpoint without its log is called damaged' checkpoint.c \
    lost_log 's/s->lacks_log = \*wrong && !s->ends;//'
fault 'another checkpoint than the newest is named' checkpoint.c lost_log \
    's/s.lacks_log && !intact\[0\]/s.lacks_log/'
fault 'a way out is named that refuses it, too' checkpoint.c foreign \
    's/if (s->take < EXTEND && .*/if (s->take < EXTEND)/'
fault 'a folder of one machine alone is not named' checkpoint.c errors \
    's/errno == ENOENT && s->r/0/'
fault 'a log of somebody else is emptied' log.c locked \
    's/strncmp(begin, log_begin, strlen(begin)) != 0/0/'
fault 'every step is skipped, and nobody says so' run.c test_steps \
    's/ || scale < 1e-6)/)/'
fault 'other copies of the texts are not noticed' run.c errors \
    's/agree_same(r->text.hash) ?/1 ?/'
fault 'one kernel of OpenBLAS stands for all' run.c kernels \
    's/agree_same(text_hash(TEXT_HASH, name, strlen(name)))/1/'
fault 'a step whose loss is no number is skipped' run.c errors \
    's/isnan(reduce_mean_loss(&r->reduce))/0/'
fault 'weights that are no good are saved' main.c errors \
    's/agree(isnan(held)/agree(0/'
fault 'a loss that is no number is logged as 0' reduce.c errors \
    '/REDUCE_NO_LOSS\] +=/{n;s/reduce_round/0 * reduce_round/}'
fault 'a text is left out of a mix' feed.c errors \
    's/num_steps(s) == 0/num_steps(s) == 9/'
fault 'a text that is changed is trained on' text.c changed \
    's/hash_file(f) != f->hash/0/'
fault 'a text that is cut ends in a stack trace' text.c changed \
    's|sigaction(SIGBUS, &cut, NULL);||'
fault 'a file overrules keys before it' main.c errors \
    's/i == 0 ?/1 ?/'
fault 'a file with a = is a key' main.c input \
    's/strcspn(argument, "=\/")/strcspn(argument, "=")/'
fault 'a full disk is no error of --keys' main.c input 's/!ferror(stdout)/1/; s/fflush(stdout) == 0 \&\&/1 ||/'
fault 'a pipe is waited for' text.c errors 's/ | O_NONBLOCK//'
fault 'folders that a killed run made are not flushed' log.c unread \
    's/errno == EACCES || /1 || /'
echo "$noticed noticed, $missed missed"
[ $missed = 0 ]
