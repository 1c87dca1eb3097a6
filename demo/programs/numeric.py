# SPDX-License-Identifier: Apache-2.0 OR MIT
# A matrix product and its Fourier transform. Prints digests of all bits, so that equal output means equal results.
import hashlib

import numpy as np


def digest(array):
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:12]


a, b = np.random.default_rng(20).standard_normal((2, 160, 160))
product = a @ b
spectrum = np.fft.fft2(product)
back = np.fft.ifft2(spectrum).real
print("matmul", digest(product), "fft", digest(spectrum))
print("inverse fft gives the product:", np.allclose(back, product))
