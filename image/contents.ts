/** What of Debian goes into the image. Everything else on it is Node, Coffer, and the files of this directory. */

import type { Architecture } from './architecture.ts'

/** Of these packages come the programs below, and the libraries that those and Node ask for. */
export const packagesOf = ({ kernelPackage }: Architecture): readonly string[] => [
  kernelPackage,
  'systemd-boot-efi',
  'busybox-static',
  'dmsetup',
  'e2fsprogs',
  'fdisk',
  'util-linux',
  'libatomic1',
  'libblkid1',
  'libc6',
  'libcap-ng0',
  'libcom-err2',
  'libdevmapper1.02.1',
  'libext2fs2',
  'libfdisk1',
  'libgcc-s1',
  'libpcre2-8-0',
  'libreadline8',
  'libselinux1',
  'libsmartcols1',
  'libstdc++6',
  'libtinfo6',
  'libudev1',
  'libuuid1',
]

/** Files as their package names them; on the image all of them are below /usr. */
export const PROGRAMS: readonly { package: string; path: string }[] = [
  { package: 'busybox-static', path: 'bin/busybox' }, // mounts, network, power
  { package: 'util-linux', path: 'usr/bin/setpriv' }, // takes the firmware's privileges away
  { package: 'util-linux', path: 'sbin/blkdiscard' }, // busybox's cannot write zeros
  { package: 'e2fsprogs', path: 'sbin/mke2fs' },
  { package: 'e2fsprogs', path: 'sbin/e2fsck' },
  { package: 'fdisk', path: 'sbin/sfdisk' }, // grows the data partition to the size of the disk
  { package: 'util-linux', path: 'usr/bin/partx' }, // and tells the kernel
]

export const BUSYBOX = PROGRAMS[0]!

/** In the initramfs, beside busybox. */
export const DMSETUP = { package: 'dmsetup', path: 'sbin/dmsetup' } // opens the root file system

/** The drivers of disks, and what opens the root file system on them. */
export const ROOT_MODULES: readonly string[] = [
  'virtio_pci',
  'virtio_mmio',
  'virtio_blk',
  'virtio_scsi',
  'sd_mod',
  'nvme',
  'dm_verity',
  'squashfs',
]

/** What the boot manager does not know by name: all of them are loaded while the root file system is read ahead. */
export const MODULES: readonly string[] = [
  'virtio_net',
  'virtio_rng',
  'ext4',
  'vfat',
  'nls_cp437',
  'nls_ascii',
  'efivarfs',
  'tpm_tis',
  'tpm_crb',
  'softdog',
]
