/* gather.cu - the order computed in a CUDA kernel.

       nvcc -arch=sm_75 -I. -c -o gather.o examples/gather.cu

   statesampler_perm_init on the host makes `order`. It is the order of a
   shuffled sampler with the same samples, seed, epoch and stream. A kernel may
   call every function of the core, and take a whole statesampler as an
   argument. __grid_constant__ saves each thread a copy. bench/gpu.cu checks
   that the results are those of the host. */
#define STATESAMPLER_STATIC
#define STATESAMPLER_API __host__ __device__
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"

/* batch[i] is the sample at position first + i of the shuffled order. */
__global__ void gather(const __grid_constant__ statesampler_perm order,
                       uint64_t first, uint64_t count, const float *samples,
                       float *batch)
{
    uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        batch[i] = samples[statesampler_perm_at(&order, first + i)];
}
