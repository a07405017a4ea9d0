# edits.sed - what changes in llm.c's train_gpt2.c, at the commit that README.md
# names, so that it saves after each step and goes on from there:
#     sed -f edits.sed train_gpt2.c >new && mv new train_gpt2.c
# Its first argument is the file to save to. Without one nothing is saved.
29a\
#include "llmc/checkpoint.h"
1077c\
int main(int argc, char **argv) {\
    const char *saved = argc > 1 ? argv[1] : NULL;
1081c\
    const char *path = saved != NULL && access(saved, F_OK) == 0\
        ? saved : "gpt2_124M.bin";\
    gpt2_build_from_checkpoint(&model, path);
1094a\
    checkpoint place;\
    int first = checkpoint_load(&place, path, &train_loader, &model.m_memory,\
                                &model.v_memory, model.num_parameters);
1110s/step = 0/step = first/
1171a\
        if (saved != NULL)\
            checkpoint_save(&place, saved, &train_loader, step + 1,\
                            model.params_memory, model.m_memory, model.v_memory);
