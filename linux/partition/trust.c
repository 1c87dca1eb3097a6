// SPDX-License-Identifier: GPL-2.0
/*
 * Which images may run. The image is code that runs as privileged as Linux, so whoever gives
 * it needs CAP_SYS_MODULE (doors/device.c), and where Linux verifies modules the image must
 * be verified too: the module knows the digest of the image that it was built with, and the
 * module's signature covers that.
 *
 * Called by partition/layout.c with the control lock held, when the image is in the
 * partition's memory, where nobody else writes. Sleeps.
 */
#include <linux/module.h>
#include <linux/security.h>
#include <linux/string.h>
#include <crypto/sha2.h>

#include "compat.h"
#include "partition/partition.h"
#include "tacet.h"

/* TACET_IMAGE_DIGEST is Kbuild's: empty if the module was built without an image. */
static bool built_with(const void *image, size_t bytes)
{
	char text[2 * SHA256_DIGEST_SIZE + 1];
	u8 digest[SHA256_DIGEST_SIZE];

	sha256(image, bytes, digest);
	snprintf(text, sizeof(text), "%*phN", SHA256_DIGEST_SIZE, digest);
	return !strcmp(text, TACET_IMAGE_DIGEST);
}

/* Linux has verified the signature of this module, or lets only verified code into the
 * kernel now. It may have begun that after the module was loaded. */
static bool verified(void)
{
	return tacet_module_signed() || is_module_sig_enforced() ||
	       security_locked_down(LOCKDOWN_MODULE_SIGNATURE);
}

/* False: neither the module's signature nor anything else vouches for the image. */
bool tacet_image_trusted(const void *image, size_t bytes)
{
	return built_with(image, bytes) || !verified();
}
