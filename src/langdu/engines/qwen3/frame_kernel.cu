// One frame of Qwen3-TTS in one launch: a persistent grid, one block per multiprocessor, that walks through the
// talker's layers, the first code, the code predictor's sixteen passes and the next input, with a barrier over
// the whole grid between phases. A frame of separate launches costs the host thousands of graph nodes; here it is one.
//
// Weights are packed in tiles of 8 outputs by 32 inputs so that each lane reads 16 contiguous bytes that are its
// share of two m16n8k16 products; activations are the other operand, read from L2 row-major. The warps of a
// block split the inputs of a tile and add their parts in a fixed order, so a row's result does not depend on how
// many rows run, nor on what they hold.
//
// Keys and values are written in place: the caller owns that buffer and orders the launches by passing each
// launch something the last one returned.

namespace frame {

constexpr int WARPS = 16;
constexpr int THREADS = 512;
constexpr int D = 128;          // head size
constexpr int CHUNK = 128;      // positions of one attention item
__device__ constexpr int most_tiles(int rows) { return rows == 32 ? 4 : 6; }  // tiles of a block whose parts are added at once

#define MINUS_INFINITY __uint_as_float(0xff800000u)

typedef __nv_bfloat16 bf16;

struct Grid {
  unsigned* counter;
  unsigned target;
  unsigned blocks;
};

__device__ inline void arrive(Grid& grid) {
  __syncthreads();
  grid.target += grid.blocks;
  // Releases what all threads of the block wrote: the block's barrier comes before it.
  if (threadIdx.x == 0) asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(grid.counter) : "memory");
}

__device__ inline void await(const Grid& grid) {
  if (threadIdx.x == 0) {
    unsigned seen, tries = 0;
    do {
      asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(grid.counter) : "memory");
      if (++tries > (1u << 26)) asm volatile("trap;");  // a block that never came: stop rather than hang the device
    } while (seen < grid.target);
  }
  __syncthreads();
}

__device__ inline uint4 load_weight(const uint4* p) {
  uint4 v;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p));
  return v;
}

__device__ inline uint4 load_shared_state(const void* p) { return __ldcg(reinterpret_cast<const uint4*>(p)); }

__device__ inline float low(unsigned v) { return __uint_as_float(v << 16); }
__device__ inline float high(unsigned v) { return __uint_as_float(v & 0xffff0000u); }

__device__ inline unsigned pack(float a, float b) {
  unsigned v;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(v) : "f"(b), "f"(a));
  return v;
}

__device__ inline float round_bf16(float v) { return low(pack(v, 0.f)); }

__device__ inline unsigned times(unsigned a, unsigned b) { return pack(low(a) * low(b), high(a) * high(b)); }

__device__ inline float squares(const uint4& v) {
  float s = 0.f;
  const unsigned w[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) s += low(w[i]) * low(w[i]) + high(w[i]) * high(w[i]);
  return s;
}

__device__ inline void mma(float* c, unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

// out[row][n] = scale[row] * sum_k in[row][k] * norm[k] * W[n][k], scale = 1 / rms(in[row]) when NORM.
// Block b takes groups b, b + G, ... of GROUP tiles that belong together (gate and up); `store(row, n, values)` gets
// the GROUP values of output n. The first weights are under way before the grid is waited for.
template <int N, int K, int R, int G, int GROUP, bool NORM, typename Store>
__device__ inline void product(Grid& grid, bool wait, const uint4* weights, const bf16* in, const bf16* norm, float eps,
                               int rows, float* smem, Store store) {
  constexpr int GROUPS = N / 8 / GROUP;
  constexpr int PER_BLOCK = (GROUPS + G - 1) / G;
  constexpr int MT = (R + 15) / 16;
  constexpr int MOST = most_tiles(R);
  constexpr int AT_ONCE = PER_BLOCK * GROUP <= MOST ? PER_BLOCK : MOST / GROUP;
  constexpr int TILES = AT_ONCE * GROUP;
  constexpr int KP = K / 32;
  constexpr int OWN = KP / WARPS;                                // 32-wide slices of one warp
  constexpr int BUDGET = R == 32 ? 8 : 16;                       // 16-byte loads in flight per lane
  constexpr int DEPTH = OWN * TILES <= BUDGET ? OWN : (BUDGET / TILES < 1 ? 1 : BUDGET / TILES);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int quad = lane % 4, line = lane / 4;
  float* parts = smem;                                           // [WARPS][TILES][R][8]
  float* sums = smem + WARPS * TILES * R * 8;                    // [WARPS][R]
  static_assert(K % (32 * WARPS) == 0 && N % (8 * GROUP) == 0, "shapes");

  for (int first = 0; first < PER_BLOCK; first += AT_ONCE) {
    float acc[TILES][MT][4];
    float ss[MT * 2];
#pragma unroll
    for (int t = 0; t < TILES; ++t)
#pragma unroll
      for (int m = 0; m < MT; ++m)
#pragma unroll
        for (int c = 0; c < 4; ++c) acc[t][m][c] = 0.f;
#pragma unroll
    for (int m = 0; m < MT * 2; ++m) ss[m] = 0.f;

    const uint4* base[TILES];
#pragma unroll
    for (int t = 0; t < TILES; ++t) {
      int group = blockIdx.x + (first + t / GROUP) * G;
      if (group >= GROUPS) group = GROUPS - 1;                   // read something harmless; not stored
      base[t] = weights + ((size_t)(group * GROUP + t % GROUP) * KP) * 32 + lane;
    }
#pragma unroll 1
    for (int i0 = 0; i0 < OWN; i0 += DEPTH) {
      uint4 w[DEPTH][TILES];
#pragma unroll
      for (int i = 0; i < DEPTH; ++i)
#pragma unroll
        for (int t = 0; t < TILES; ++t)
          if (OWN % DEPTH == 0 || i0 + i < OWN) w[i][t] = load_weight(base[t] + (size_t)(warp + (i0 + i) * WARPS) * 32);
      if (wait) {
        await(grid);
        wait = false;
      }
#pragma unroll
      for (int i = 0; i < DEPTH; ++i) {
        if (OWN % DEPTH != 0 && i0 + i >= OWN) break;
        const int k = (warp + (i0 + i) * WARPS) * 32 + quad * 8;
        uint4 nw = make_uint4(0, 0, 0, 0);
        if (NORM) nw = __ldg(reinterpret_cast<const uint4*>(norm + k));
#pragma unroll
        for (int m = 0; m < MT; ++m) {
          uint4 a = make_uint4(0, 0, 0, 0), b = make_uint4(0, 0, 0, 0);
          const int r0 = m * 16 + line, r1 = r0 + 8;
          if (r0 < rows) a = load_shared_state(in + (size_t)r0 * K + k);
          if (R > 8 && r1 < rows) b = load_shared_state(in + (size_t)r1 * K + k);
          if (NORM) {
            if (first == 0) {
              ss[2 * m] += squares(a);
              if (R > 8) ss[2 * m + 1] += squares(b);
            }
            a = make_uint4(times(a.x, nw.x), times(a.y, nw.y), times(a.z, nw.z), times(a.w, nw.w));
            if (R > 8) b = make_uint4(times(b.x, nw.x), times(b.y, nw.y), times(b.z, nw.z), times(b.w, nw.w));
          }
#pragma unroll
          for (int t = 0; t < TILES; ++t) {
            mma(acc[t][m], a.x, b.x, a.y, b.y, w[i][t].x, w[i][t].y);
            mma(acc[t][m], a.z, b.z, a.w, b.w, w[i][t].z, w[i][t].w);
          }
        }
      }
    }
#pragma unroll
    for (int t = 0; t < TILES; ++t)
#pragma unroll
      for (int m = 0; m < MT; ++m) {
        float* to = parts + ((warp * TILES + t) * R + m * 16 + line) * 8 + quad * 2;
        *reinterpret_cast<float2*>(to) = make_float2(acc[t][m][0], acc[t][m][1]);
        if (R > 8) *reinterpret_cast<float2*>(to + 64) = make_float2(acc[t][m][2], acc[t][m][3]);
      }
    if (NORM && first == 0) {
#pragma unroll
      for (int m = 0; m < MT * 2; ++m) {
        if (R == 8 && m > 0) break;
        ss[m] += __shfl_xor_sync(~0u, ss[m], 1);
        ss[m] += __shfl_xor_sync(~0u, ss[m], 2);
        if (quad == 0) sums[warp * R + m * 8 + line] = ss[m];
      }
    }
    __syncthreads();
    for (int e = threadIdx.x; e < AT_ONCE * R * 8; e += THREADS) {
      const int row = e / 8 % R, n = e % 8, j = e / (8 * R);
      const int group = blockIdx.x + (first + j) * G;
      if (row >= rows || group >= GROUPS || first + j >= PER_BLOCK) continue;
      float scale = 1.f;
      if (NORM) {
        float s = 0.f;
#pragma unroll
        for (int v = 0; v < WARPS; ++v) s += sums[v * R + row];
        scale = rsqrtf(s / K + eps);
      }
      float v[GROUP];
#pragma unroll
      for (int g = 0; g < GROUP; ++g) {
        float s = 0.f;
#pragma unroll
        for (int u = 0; u < WARPS; ++u) s += parts[((u * TILES + j * GROUP + g) * R + row) * 8 + n];
        v[g] = s * scale;
      }
      store(row, group * 8 + n, v);
    }
    __syncthreads();
  }
}

__device__ inline float warp_sum(float v) {
#pragma unroll
  for (int o = 16; o > 0; o /= 2) v += __shfl_xor_sync(~0u, v, o);
  return v;
}
__device__ inline float warp_max(float v) {
#pragma unroll
  for (int o = 16; o > 0; o /= 2) v = fmaxf(v, __shfl_xor_sync(~0u, v, o));
  return v;
}

// Norm and rotary embedding of one head by one warp; lane l holds dimensions 4l .. 4l+3.
__device__ inline void norm_rotate(float* v, const float* from, const bf16* weight, const float* rope, float eps, int lane) {
  const float4 raw = __ldcg(reinterpret_cast<const float4*>(from) + lane);
  v[0] = round_bf16(raw.x); v[1] = round_bf16(raw.y); v[2] = round_bf16(raw.z); v[3] = round_bf16(raw.w);
  const float s = warp_sum(v[0] * v[0] + v[1] * v[1] + v[2] * v[2] + v[3] * v[3]);
  const float inv = rsqrtf(s / D + eps);
#pragma unroll
  for (int i = 0; i < 4; ++i) v[i] *= inv * __bfloat162float(weight[lane * 4 + i]);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float other = __shfl_xor_sync(~0u, v[i], 16);
    const float2 cs = __ldg(reinterpret_cast<const float2*>(rope) + (lane % 16) * 4 + i);
    v[i] = lane < 16 ? v[i] * cs.x - other * cs.y : v[i] * cs.x + other * cs.y;
  }
}

__device__ inline float dot8(const uint4& k, const float* q) {
  return low(k.x) * q[0] + high(k.x) * q[1] + low(k.y) * q[2] + high(k.y) * q[3] + low(k.z) * q[4] + high(k.z) * q[5] +
         low(k.w) * q[6] + high(k.w) * q[7];
}

__device__ inline void add8(float* o, const uint4& v, float p) {
  o[0] += p * low(v.x); o[1] += p * high(v.x); o[2] += p * low(v.y); o[3] += p * high(v.y);
  o[4] += p * low(v.z); o[5] += p * high(v.z); o[6] += p * low(v.w); o[7] += p * high(v.w);
}

// The talker's attention: items of (row, key/value head, chunk of 128 positions); the last block to finish a head's
// chunks puts them together, in order. Two query heads share a key/value head.
template <int R, int G, int S, int HEADS, int KV>
__device__ inline void attend(Grid& grid, const float* qkv, bf16* cache, bf16* out, const bf16* q_norm, const bf16* k_norm,
                              const float* rope, const int* position, int rows, float eps, float* partial,
                              unsigned* counters, float* smem) {
  constexpr int WIDTH = (HEADS + 2 * KV) * D;
  constexpr int MOST = (S + CHUNK - 1) / CHUNK;
  constexpr int PART = 2 * D + 4;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, half = lane / 16, l16 = lane % 16;
  float* q_s = smem;                                       // [2][D]
  bf16* k_s = reinterpret_cast<bf16*>(smem + 256);         // [D]
  bf16* v_s = reinterpret_cast<bf16*>(smem + 320);         // [D]
  float* score = smem + 384;                               // [2][CHUNK]
  float* o_s = smem + 640;                                 // [WARPS][2][D]
  __shared__ unsigned last;
  await(grid);
  int row = 0, before = 0;
  for (int item = blockIdx.x;; item += G) {
    int chunks = 0;
    while (row < rows) {
      chunks = position[row] < 0 || position[row] >= S ? 0 : position[row] / CHUNK + 1;
      if (item < before + chunks * KV) break;
      before += chunks * KV;
      ++row;
    }
    if (row >= rows) break;
    const int at = position[row], kv = (item - before) / chunks, chunk = (item - before) % chunks;
    const int start = chunk * CHUNK, count = min(CHUNK, at + 1 - start);
    bf16* keys = cache + ((size_t)row * KV + kv) * S * D;
    bf16* values = keys + (size_t)R * KV * S * D;
    uint4 k4[4], v4[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int p = warp * 2 + half + i * 32;
      k4[i] = v4[i] = make_uint4(0, 0, 0, 0);
      if (p < count && start + p < at) {
        k4[i] = load_shared_state(keys + (size_t)(start + p) * D + l16 * 8);
        v4[i] = load_shared_state(values + (size_t)(start + p) * D + l16 * 8);
      }
    }
    const float* from = qkv + (size_t)row * WIDTH;
    const float* angles = rope + (size_t)at * D;
    if (warp < 3) {
      float v[4];
      const bool key = warp == 2;
      norm_rotate(v, from + (key ? HEADS + kv : 2 * kv + warp) * D, key ? k_norm : q_norm, angles, eps, lane);
      if (key) {
        const uint2 two = make_uint2(pack(v[0], v[1]), pack(v[2], v[3]));
        reinterpret_cast<uint2*>(k_s)[lane] = two;
        if (chunk == chunks - 1) reinterpret_cast<uint2*>(keys + (size_t)at * D)[lane] = two;
      } else {
#pragma unroll
        for (int i = 0; i < 4; ++i) q_s[warp * D + lane * 4 + i] = round_bf16(v[i]) * 0.08838834764831845f;
      }
    } else if (warp == 3) {
      const float4 raw = __ldcg(reinterpret_cast<const float4*>(from + (HEADS + KV + kv) * D) + lane);
      const uint2 two = make_uint2(pack(raw.x, raw.y), pack(raw.z, raw.w));
      reinterpret_cast<uint2*>(v_s)[lane] = two;
      if (chunk == chunks - 1) reinterpret_cast<uint2*>(values + (size_t)at * D)[lane] = two;
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int p = warp * 2 + half + i * 32;
      if (start + p == at) {
        k4[i] = reinterpret_cast<const uint4*>(k_s)[l16];
        v4[i] = reinterpret_cast<const uint4*>(v_s)[l16];
      }
    }
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float q[8];
#pragma unroll
      for (int i = 0; i < 8; ++i) q[i] = q_s[h * D + l16 * 8 + i];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float s = dot8(k4[i], q);
#pragma unroll
        for (int o = 8; o > 0; o /= 2) s += __shfl_xor_sync(~0u, s, o);
        const int p = warp * 2 + half + i * 32;
        if (l16 == 0) score[h * CHUNK + p] = p < count ? s : MINUS_INFINITY;
      }
    }
    __syncthreads();
    float top[2], mass[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float m = MINUS_INFINITY, s = 0.f;
#pragma unroll
      for (int i = 0; i < 4; ++i) m = fmaxf(m, score[h * CHUNK + lane + i * 32]);
      m = warp_max(m);
#pragma unroll
      for (int i = 0; i < 4; ++i) s += __expf(score[h * CHUNK + lane + i * 32] - m);
      top[h] = m;
      mass[h] = warp_sum(s);
      float o[8] = {0, 0, 0, 0, 0, 0, 0, 0};
#pragma unroll
      for (int i = 0; i < 4; ++i) add8(o, v4[i], __expf(score[h * CHUNK + warp * 2 + half + i * 32] - m));
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        o[i] += __shfl_xor_sync(~0u, o[i], 16);
        if (half == 0) o_s[(warp * 2 + h) * D + l16 * 8 + i] = o[i];
      }
    }
    __syncthreads();
    const int t = threadIdx.x;
    float* mine = partial + (((size_t)row * KV + kv) * MOST + chunk) * PART;
    if (t < 2 * D) {
      float s = 0.f;
#pragma unroll
      for (int w = 0; w < WARPS; ++w) s += o_s[w * 2 * D + t];
      if (chunks == 1)
        out[((size_t)row * HEADS + 2 * kv) * D + t] = __float2bfloat16(s / mass[t / D]);
      else
        __stcg(mine + t, s);
    }
    if (chunks > 1) {
      if (t < 2) {
        __stcg(mine + 2 * D + t, top[t]);
        __stcg(mine + 2 * D + 2 + t, mass[t]);
      }
      __threadfence();
      __syncthreads();
      if (t == 0) last = atomicAdd(counters + row * KV + kv, 1u) == (unsigned)(chunks - 1);
      __syncthreads();
      if (last) {
        __threadfence();
        if (t == 0) counters[row * KV + kv] = 0;
        if (t < 2 * D) {
          const float* all = partial + ((size_t)row * KV + kv) * MOST * PART;
          const int h = t / D;
          float m = MINUS_INFINITY, s = 0.f, o = 0.f;
          for (int c = 0; c < chunks; ++c) m = fmaxf(m, __ldcg(all + (size_t)c * PART + 2 * D + h));
          for (int c = 0; c < chunks; ++c) {
            const float f = __expf(__ldcg(all + (size_t)c * PART + 2 * D + h) - m);
            s += f * __ldcg(all + (size_t)c * PART + 2 * D + 2 + h);
            o += f * __ldcg(all + (size_t)c * PART + t);
          }
          out[((size_t)row * HEADS + 2 * kv) * D + t] = __float2bfloat16(o / s);
        }
      }
    }
    __syncthreads();
  }
}

// The predictor's attention over at most 16 positions: one warp for each (row, query head).
template <int R, int G, int HEADS, int KV>
__device__ inline void attend_short(Grid& grid, const float* qkv, bf16* cache, bf16* out, const bf16* q_norm,
                                    const bf16* k_norm, const float* rope, int at, int rows, float eps, float* smem) {
  constexpr int WIDTH = (HEADS + 2 * KV) * D;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, half = lane / 16, l16 = lane % 16;
  await(grid);
  float* q_s = smem + warp * 256;
  bf16* k_s = reinterpret_cast<bf16*>(q_s + 128);
  bf16* v_s = k_s + D;
  for (int item = blockIdx.x + warp * G; item < rows * HEADS; item += G * WARPS) {
    const int row = item / HEADS, head = item % HEADS, kv = head * KV / HEADS;
    bf16* keys = cache + ((size_t)row * KV + kv) * 16 * D;
    bf16* values = keys + (size_t)R * KV * 16 * D;
    uint4 k4[8], v4[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int p = i * 2 + half;
      k4[i] = v4[i] = make_uint4(0, 0, 0, 0);
      if (p < at) {
        k4[i] = load_shared_state(keys + p * D + l16 * 8);
        v4[i] = load_shared_state(values + p * D + l16 * 8);
      }
    }
    const float* from = qkv + (size_t)row * WIDTH;
    float v[4];
    norm_rotate(v, from + head * D, q_norm, rope + (size_t)at * D, eps, lane);
#pragma unroll
    for (int i = 0; i < 4; ++i) q_s[lane * 4 + i] = round_bf16(v[i]) * 0.08838834764831845f;
    norm_rotate(v, from + (HEADS + kv) * D, k_norm, rope + (size_t)at * D, eps, lane);
    const uint2 key = make_uint2(pack(v[0], v[1]), pack(v[2], v[3]));
    const float4 raw = __ldcg(reinterpret_cast<const float4*>(from + (HEADS + KV + kv) * D) + lane);
    const uint2 value = make_uint2(pack(raw.x, raw.y), pack(raw.z, raw.w));
    reinterpret_cast<uint2*>(k_s)[lane] = key;
    reinterpret_cast<uint2*>(v_s)[lane] = value;
    if (head % (HEADS / KV) == 0) {
      reinterpret_cast<uint2*>(keys + at * D)[lane] = key;
      reinterpret_cast<uint2*>(values + at * D)[lane] = value;
    }
    __syncwarp();
    float q[8], s[8], m = MINUS_INFINITY, mass = 0.f, o[8] = {0, 0, 0, 0, 0, 0, 0, 0};
#pragma unroll
    for (int i = 0; i < 8; ++i) q[i] = q_s[l16 * 8 + i];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int p = i * 2 + half;
      if (p == at) {
        k4[i] = reinterpret_cast<const uint4*>(k_s)[l16];
        v4[i] = reinterpret_cast<const uint4*>(v_s)[l16];
      }
      s[i] = dot8(k4[i], q);
#pragma unroll
      for (int x = 8; x > 0; x /= 2) s[i] += __shfl_xor_sync(~0u, s[i], x);
      if (p > at) s[i] = MINUS_INFINITY;
      m = fmaxf(m, s[i]);
    }
    m = fmaxf(m, __shfl_xor_sync(~0u, m, 16));
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float p = __expf(s[i] - m);
      mass += p;
      add8(o, v4[i], p);
    }
    mass += __shfl_xor_sync(~0u, mass, 16);
#pragma unroll
    for (int i = 0; i < 8; ++i) o[i] = (o[i] + __shfl_xor_sync(~0u, o[i], 16)) / mass;
    if (half == 0)
      reinterpret_cast<uint4*>(out + ((size_t)row * HEADS + head) * D)[l16] =
          make_uint4(pack(o[0], o[1]), pack(o[2], o[3]), pack(o[4], o[5]), pack(o[6], o[7]));
    __syncwarp();
  }
}

__device__ inline unsigned ordered(float v) {
  const unsigned u = __float_as_uint(v);
  return u & 0x80000000u ? ~u : u | 0x80000000u;
}

__device__ inline unsigned rotate_left(unsigned x, int d) { return (x << d) | (x >> (32 - d)); }

// Threefry 2x32, 20 rounds: MLX's generator, so both paths draw the same stream.
__device__ inline uint2 threefry(unsigned k0, unsigned k1, unsigned x, unsigned y) {
  const unsigned ks[3] = {k0, k1, k0 ^ k1 ^ 0x1BD11BDAu};
  const int rot[8] = {13, 15, 26, 6, 17, 29, 16, 24};
  x += ks[0];
  y += ks[1];
#pragma unroll
  for (int i = 0; i < 5; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      x += y;
      y = rotate_left(y, rot[(i % 2) * 4 + j]);
      y ^= x;
    }
    x += ks[(i + 1) % 3];
    y += ks[(i + 2) % 3] + i + 1;
  }
  return make_uint2(x, y);
}

template <typename T>
__device__ inline T block_sum(T v, T* smem) {
#pragma unroll
  for (int o = 16; o > 0; o /= 2) v += __shfl_xor_sync(~0u, v, o);
  if (threadIdx.x % 32 == 0) smem[threadIdx.x / 32] = v;
  __syncthreads();
  T s = 0;
#pragma unroll
  for (int w = 0; w < WARPS; ++w) s += smem[w];
  __syncthreads();
  return s;
}

// One code of logits v[i] at index threadIdx.x + i * THREADS, all threads of the block; the same filters as `draw`.
template <int V>
__device__ inline int pick(float* v, float temperature, int top_k, float top_p, unsigned seed, unsigned counter, float* smem) {
  constexpr int OWN = V / THREADS;
  unsigned* words = reinterpret_cast<unsigned*>(smem);
  if (temperature > 0.f) {
    unsigned u[OWN];
#pragma unroll
    for (int i = 0; i < OWN; ++i) {
      v[i] = v[i] / temperature;
      u[i] = ordered(v[i]);
    }
    if (top_k > 0 && top_k < V) {
      unsigned lo = 0, hi = 0xffffffffu;  // the largest threshold that at least top_k values reach
      while (lo < hi) {
        const unsigned mid = lo + (hi - lo) / 2 + 1;
        unsigned n = 0;
#pragma unroll
        for (int i = 0; i < OWN; ++i) n += u[i] >= mid;
        n = block_sum(n, words);
        if (n >= (unsigned)top_k) lo = mid; else hi = mid - 1;
        if (n == (unsigned)top_k) break;
      }
#pragma unroll
      for (int i = 0; i < OWN; ++i)
        if (u[i] < lo) v[i] = MINUS_INFINITY;
    }
    if (top_p < 1.f) {
      float m = MINUS_INFINITY, e[OWN], s = 0.f;
#pragma unroll
      for (int i = 0; i < OWN; ++i) m = fmaxf(m, v[i]);
      m = warp_max(m);
      if (threadIdx.x % 32 == 0) smem[threadIdx.x / 32] = m;
      __syncthreads();
#pragma unroll
      for (int w = 0; w < WARPS; ++w) m = fmaxf(m, smem[w]);
      __syncthreads();
#pragma unroll
      for (int i = 0; i < OWN; ++i) {
        e[i] = __expf(v[i] - m);
        u[i] = ordered(v[i]);
        s += e[i];
      }
      const float limit = (1.f - top_p) * block_sum(s, smem);
      unsigned lo = 0, hi = ordered(m);  // the smallest value whose mass, with all below it, passes the limit
      while (lo < hi) {
        const unsigned mid = lo + (hi - lo) / 2;
        float below = 0.f;
#pragma unroll
        for (int i = 0; i < OWN; ++i) below += u[i] <= mid ? e[i] : 0.f;
        if (block_sum(below, smem) > limit) hi = mid; else lo = mid + 1;
      }
#pragma unroll
      for (int i = 0; i < OWN; ++i)
        if (u[i] < lo) v[i] = MINUS_INFINITY;
    }
#pragma unroll
    for (int i = 0; i < OWN; ++i) {
      const unsigned j = threadIdx.x + i * THREADS, half = V / 2;
      const uint2 bits = threefry(seed, counter, j % half, j % half + half);
      const float x = fminf((float)(j < half ? bits.x : bits.y) / 4294967296.f, 0.99999994f);
      v[i] += -logf(-logf(x));
    }
  }
  unsigned long long best = 0;
#pragma unroll
  for (int i = 0; i < OWN; ++i) {
    const unsigned long long c = ((unsigned long long)ordered(v[i]) << 32) | (unsigned)(V - 1 - (threadIdx.x + i * THREADS));
    best = c > best ? c : best;
  }
#pragma unroll
  for (int o = 16; o > 0; o /= 2) {
    const unsigned long long c = __shfl_xor_sync(~0u, best, o);
    best = c > best ? c : best;
  }
  unsigned long long* wide = reinterpret_cast<unsigned long long*>(smem);
  if (threadIdx.x % 32 == 0) wide[threadIdx.x / 32] = best;
  __syncthreads();
#pragma unroll
  for (int w = 0; w < WARPS; ++w) best = wide[w] > best ? wide[w] : best;
  __syncthreads();
  return V - 1 - (int)(best & 0xffffffffu);
}

}  // namespace frame

#undef __global__
#define __global__ __attribute__((global)) __launch_bounds__(512, 1)

// ---- body of the kernel; MLX writes its signature, from the names of inputs and outputs, and the constants ----
  using namespace frame;
  constexpr int QKV = (HEADS + 2 * KV) * D;
  constexpr size_t O_AT = (size_t)QKV * H / 8, GU_AT = O_AT + (size_t)H * HEADS * D / 8,
                   DOWN_AT = GU_AT + (size_t)2 * I * H / 8, LAYER = DOWN_AT + (size_t)H * I / 8;
  constexpr size_t PO_AT = (size_t)QKV * HP / 8, PGU_AT = PO_AT + (size_t)HP * HEADS * D / 8,
                   PDOWN_AT = PGU_AT + (size_t)2 * IP * HP / 8, PLAYER = PDOWN_AT + (size_t)HP * IP / 8;
  constexpr int MOST_CHUNKS = (S + CHUNK - 1) / CHUNK;
  constexpr float EPS = EPS_E9 * 1e-9f;
  extern __shared__ __align__(16) float smem[];
  __shared__ int chosen[16];

  Grid grid{const_cast<unsigned*>(barrier), 0u, (unsigned)G};
  unsigned* counters = const_cast<unsigned*>(barrier) + 32;
  float* work = const_cast<float*>(scratch);
  float* qkv = work;
  float* logits = qkv + R * QKV;
  float* partial = logits + R * V;
  bf16* attended = reinterpret_cast<bf16*>(partial + (size_t)R * KV * MOST_CHUNKS * (2 * D + 4));
  bf16* inner = attended + R * HEADS * D;
  bf16* xw = inner + R * (I > IP ? I : IP);
  bf16* xp = xw + R * H;
  bf16* xq = xp + R * HP;
  bf16* keep = const_cast<bf16*>(cache);
  bf16* keep_p = const_cast<bf16*>(short_cache);
  const uint4* weights = reinterpret_cast<const uint4*>(talker);
  const uint4* weights_p = reinterpret_cast<const uint4*>(predictor);
  const bf16* final_norm = norms + (size_t)LAYERS * (2 * H + 2 * D);
  const bf16* norms_p = final_norm + H;
  const bf16* final_p = norms_p + (size_t)PLAYERS * (2 * HP + 2 * D);
  const bf16* bias = final_p + HP;
  const int block = blockIdx.x, thread = threadIdx.x;

  auto to_qkv = [&](int row, int n, const float* v) { __stcg(qkv + (size_t)row * QKV + n, v[0]); };
  auto to_logits = [&](int row, int n, const float* v) { __stcg(logits + (size_t)row * V + n, v[0]); };

  for (int layer = 0; layer < LAYERS; ++layer) {
    const uint4* w = weights + layer * LAYER;
    const bf16* n1 = norms + (size_t)layer * (2 * H + 2 * D);
    const bf16* from = layer ? xw : x;
    product<QKV, H, R, G, 1, true>(grid, true, w, from, n1, EPS, B, smem, to_qkv);
    arrive(grid);
    attend<R, G, S, HEADS, KV>(grid, qkv, keep + (size_t)layer * 2 * R * KV * S * D, attended, n1 + 2 * H, n1 + 2 * H + D,
                               rope, position, B, EPS, partial, counters, smem);
    arrive(grid);
    product<H, HEADS * D, R, G, 1, false>(grid, true, w + O_AT, attended, nullptr, EPS, B, smem,
                                          [&](int row, int n, const float* v) {
                                            const size_t i = (size_t)row * H + n;
                                            xw[i] = __float2bfloat16(__bfloat162float(from[i]) + v[0]);
                                          });
    arrive(grid);
    product<2 * I, H, R, G, 2, true>(grid, true, w + GU_AT, xw, n1 + H, EPS, B, smem,
                                     [&](int row, int n, const float* v) {
                                       inner[(size_t)row * I + n] = __float2bfloat16(v[0] / (1.f + __expf(-v[0])) * v[1]);
                                     });
    arrive(grid);
    product<H, I, R, G, 1, false>(grid, true, w + DOWN_AT, inner, nullptr, EPS, B, smem,
                                  [&](int row, int n, const float* v) {
                                    const size_t i = (size_t)row * H + n;
                                    xw[i] = __float2bfloat16(__bfloat162float(xw[i]) + v[0]);
                                  });
    arrive(grid);
  }
  product<V, H, R, G, 1, true>(grid, true, weights + LAYERS * LAYER, xw, final_norm, EPS, B, smem, to_logits);
  if constexpr (PROJECT) {
    product<HP, H, R, G, 1, true>(grid, false, weights_p + PLAYERS * PLAYER, xw, final_norm, EPS, B, smem,
                                  [&](int row, int n, const float* v) {
                                    xp[(size_t)row * HP + n] = __float2bfloat16(v[0] + __bfloat162float(bias[n]));
                                  });
  } else if (block < B) {
    float s = 0.f;
    for (int n = thread; n < H; n += THREADS) {
      const float v = __bfloat162float(__ldcg(xw + (size_t)block * H + n));
      s += v * v;
    }
    const float inv = rsqrtf(block_sum(s, smem) / H + EPS);
    for (int n = thread; n < H; n += THREADS)
      xp[(size_t)block * H + n] =
          __float2bfloat16(__bfloat162float(__ldcg(xw + (size_t)block * H + n)) * inv * __bfloat162float(final_norm[n]));
  }
  arrive(grid);

  // What row `block` needs for its codes.
  const int at = block < B ? position[block] : -1;
  const bool mine = at >= 0 && at < S;
  const int made = block < B ? frame[block] : 0;
  const float* f5 = floats + (block < B ? block : 0) * 5;
  const int* i4 = ints + (block < B ? block : 0) * 4;
  auto next_input = [&](int entry) {
    const uint4* e = reinterpret_cast<const uint4*>(narrow_codes + (size_t)entry * HP);
    for (int n = thread; n < HP / 8; n += THREADS) reinterpret_cast<uint4*>(xq + (size_t)block * HP)[n] = __ldg(e + n);
  };
  auto first_code = [&]() {
    float v[V / THREADS];
    for (int i = 0; i < V / THREADS; ++i) {
      const int id = thread + i * THREADS;
      float s = __ldcg(logits + (size_t)block * V + id);
      if (seen[(size_t)block * V + id]) s = s < 0.f ? s * f5[2] : s / f5[2];
      if ((id >= V - 1024 && id != END) || (id == END && made < i4[2])) s = MINUS_INFINITY;
      v[i] = s;
    }
    const int code = pick<V>(v, f5[0], i4[0], f5[1], (unsigned)i4[3], (unsigned)(made * 16), smem);
    for (int i = 0; i < V / THREADS; ++i) {
      const int id = thread + i * THREADS;
      seen_out[(size_t)block * V + id] = seen[(size_t)block * V + id] || id == code;
    }
    if (thread == 0) chosen[0] = code;
    next_input(code);
    __syncthreads();
  };

  for (int pass = 0; pass < 16; ++pass) {
    for (int layer = 0; layer < PLAYERS; ++layer) {
      const uint4* w = weights_p + layer * PLAYER;
      const bf16* n1 = norms_p + (size_t)layer * (2 * HP + 2 * D);
      const bf16* from = layer || pass == 0 ? xp : xq;
      product<QKV, HP, R, G, 1, true>(grid, true, w, from, n1, EPS, B, smem, to_qkv);
      if (pass == 0 && layer == 0 && mine) first_code();
      arrive(grid);
      attend_short<R, G, HEADS, KV>(grid, qkv, keep_p + (size_t)layer * 2 * R * KV * 16 * D, attended, n1 + 2 * HP,
                                    n1 + 2 * HP + D, short_rope, pass, B, EPS, smem);
      arrive(grid);
      if (pass == 0 && layer == PLAYERS - 1) break;  // of the first position only keys and values matter
      product<HP, HEADS * D, R, G, 1, false>(grid, true, w + PO_AT, attended, nullptr, EPS, B, smem,
                                             [&](int row, int n, const float* v) {
                                               const size_t i = (size_t)row * HP + n;
                                               xp[i] = __float2bfloat16(__bfloat162float(__ldcg(from + i)) + v[0]);
                                             });
      arrive(grid);
      product<2 * IP, HP, R, G, 2, true>(grid, true, w + PGU_AT, xp, n1 + HP, EPS, B, smem,
                                         [&](int row, int n, const float* v) {
                                           inner[(size_t)row * IP + n] =
                                               __float2bfloat16(v[0] / (1.f + __expf(-v[0])) * v[1]);
                                         });
      arrive(grid);
      product<HP, IP, R, G, 1, false>(grid, true, w + PDOWN_AT, inner, nullptr, EPS, B, smem,
                                      [&](int row, int n, const float* v) {
                                        const size_t i = (size_t)row * HP + n;
                                        xp[i] = __float2bfloat16(__bfloat162float(xp[i]) + v[0]);
                                      });
      arrive(grid);
    }
    if (pass == 0) continue;
    const uint4* head = weights_p + PLAYERS * PLAYER + (PROJECT ? (size_t)HP * H / 8 : 0) + (size_t)(pass - 1) * VP * HP / 8;
    product<VP, HP, R, G, 1, true>(grid, true, head, xp, final_p, EPS, B, smem, to_logits);
    arrive(grid);
    if (mine) {
      await(grid);
      float v[VP / THREADS];
      for (int i = 0; i < VP / THREADS; ++i) v[i] = __ldcg(logits + (size_t)block * V + thread + i * THREADS);
      const int code = pick<VP>(v, f5[3], i4[1], f5[4], (unsigned)i4[3], (unsigned)(made * 16 + pass), smem);
      if (thread == 0) chosen[pass] = code;
      if (pass < 15) next_input(V + (pass - 1) * VP + code);
    }
    if (pass < 15) arrive(grid);
  }
  __syncthreads();
  if (block < B) {
    const int steps = text_shape[1];
    const bf16* fed = made < text_length[block] ? text + ((size_t)block * steps + made) * H : pad + (size_t)block * H;
    for (int n = thread; n < H; n += THREADS) {
      float s = 0.f;
      if (mine) {
        for (int i = 0; i < 16; ++i)
          s += __bfloat162float(codes_table[(size_t)(chosen[i] + (i ? V + (i - 1) * VP : 0)) * H + n]);
        s += __bfloat162float(fed[n]);
      }
      x_out[(size_t)block * H + n] = __float2bfloat16(s);
    }
    if (!mine)
      for (int n = thread; n < V; n += THREADS) seen_out[(size_t)block * V + n] = false;
    if (thread < 16) codes[block * 16 + thread] = mine ? chosen[thread] : 0;
    if (thread == 0) {
      position_out[block] = mine ? at + 1 : -1;
      frame_out[block] = made + 1;
    }
  }
  // The last block to leave sets the barrier back for the next launch; nobody waits for it any more.
  if (thread == 0) {
    __threadfence();
    if (atomicAdd(const_cast<unsigned*>(barrier) + 1, 1u) == G - 1) {
      const_cast<unsigned*>(barrier)[1] = 0;
      const_cast<unsigned*>(barrier)[0] = 0;
    }
  }
