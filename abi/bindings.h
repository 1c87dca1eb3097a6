/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Everything that src/generated.rs is made from. */
#include <tacet/context.h>
#include <tacet/cpu.h>
#include <tacet/image.h>
#include <tacet/ioctl.h>
#include <tacet/memory.h>
#include <tacet/pico.h>
#include <tacet/space.h>
