/* SPDX-License-Identifier: Apache-2.0 */
/* scratch_claim - telling a scratch folder in use from one whose process was killed.
 *
 * A process locks its folder and then gives it a name with the id of the running kernel. The lock
 * ends with the process (and with what it forked), however it ends; so a folder of that name and
 * of this user that can be locked is nobody's any more. Leaves alone what it cannot be sure of: a
 * folder of another host or an earlier boot, one on a file system without locks, and all of them
 * where the kernel has no such id or where others may rename what lies beside them. */
#ifndef DEW_XPROF_SCRATCH_CLAIM_H
#define DEW_XPROF_SCRATCH_CLAIM_H

#define SCRATCH_PREFIX "dew-profile-scratch-"

/* Locks the folder, just made, and renames it; *folder is its path then. The descriptor holds the
 * lock. -1 where that cannot be: the folder and its name are as they were. */
int scratch_claim(char **folder);

/* Removes the folders beside this one, an absolute path, whose process is gone. */
void scratch_sweep(const char *folder);

#endif
