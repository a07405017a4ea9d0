/* device.h - lets a host's compiler make the code that is a GPU's, so that its
   results are asked where no GPU is. */
#define __CUDACC__
#define __CUDA_ARCH__ 700
#define min(a, b) ((a) < (b) ? (a) : (b)) /* CUDA has it as a function */
