// Products of matrices in bfloat16 by PyTorch's oneDNN, for XLA on CPUs: see onednn.py.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>

#include <utility>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;
using Array = ffi::Buffer<ffi::F32>;

// A matrix (rows, columns) in bfloat16, or the transpose of one that lies there as (columns, rows).
static at::Tensor Matrix(const Array& x, int64_t rows, int64_t columns, bool turned) {
  if (turned) std::swap(rows, columns);
  auto matrix = at::from_blob(x.typed_data(), {rows, columns}, at::kFloat).to(at::kBFloat16);
  return turned ? matrix.t() : matrix;
}

static ffi::Error Multiply(Array left, Array right, ffi::ResultBuffer<ffi::F32> out, int64_t m,
                           int64_t n, int64_t k, bool left_turned, bool right_turned) {
  at::NoGradGuard no_gradients;
  at::AutoDispatchBelowAutograd below;
  auto product = at::mm(Matrix(left, m, k, left_turned), Matrix(right, k, n, right_turned));
  at::from_blob(out->typed_data(), {m, n}, at::kFloat).copy_(product);
  return ffi::Error::Success();
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(
    Product, Multiply,
    ffi::Ffi::Bind().Arg<Array>().Arg<Array>().Ret<Array>()
        .Attr<int64_t>("m").Attr<int64_t>("n").Attr<int64_t>("k")
        .Attr<bool>("left_turned").Attr<bool>("right_turned"));

extern "C" void UseThreads(int count) { at::set_num_threads(count); }
