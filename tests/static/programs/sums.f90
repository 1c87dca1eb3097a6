! SPDX-License-Identifier: Apache-2.0 OR MIT
! OpenMP in Fortran: a reduction, and a line of each thread's in an array.
program sums
  use omp_lib
  implicit none
  integer, parameter :: count = 100000
  real(8) :: roots(count), total
  integer :: i, threads(0:2)

  total = 0
  threads = 0
  !$omp parallel do num_threads(3) reduction(+:total)
  do i = 1, count
     roots(i) = sqrt(real(i, 8))
     total = total + floor(roots(i))
  end do
  !$omp parallel num_threads(3)
  threads(omp_get_thread_num()) = omp_get_thread_num() + 1
  !$omp end parallel
  print '(f12.1, 3i3)', total, threads
end program
