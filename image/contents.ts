/** Debian's part of the image. Everything else in it is Node, Coffer, and the files of this directory. */

import type { Architecture } from './architecture.ts'

/** Modification time of every file, in seconds since 1970: 2026-11-01. A clock that shows an earlier time is known to be wrong. */
export const TIME = 1_793_491_200

/** Packages of the programs below, and of the libraries that those programs and Node need. */
export const packagesOf = ({ kernelPackage }: Architecture): readonly string[] => [
  kernelPackage,
  'systemd-boot-efi',
  'busybox-static',
  'ca-certificates',
  'chrony',
  'dmsetup',
  'e2fsprogs',
  'fdisk',
  'util-linux',
  ...FIRMWARE_PACKAGES,
  'libblkid1',
  'libc6',
  'libcap-ng0',
  'libcap2',
  'libcom-err2',
  'libdevmapper1.02.1',
  'libext2fs2',
  'libfdisk1',
  'libffi8',
  'libgcc-s1',
  'libgmp10',
  'libgnutls30',
  'libhogweed6',
  'libidn2-0',
  'libnettle8',
  'libp11-kit0',
  'libpcre2-8-0',
  'libreadline8',
  'libseccomp2',
  'libselinux1',
  'libsmartcols1',
  'libstdc++6',
  'libtasn1-6',
  'libtinfo6',
  'libudev1',
  'libunistring2',
  'libuuid1',
]

export const BUSYBOX = { package: 'busybox-static', path: 'bin/busybox' } // mounts, network, power

/** Files as their package names them; on the image all of them are below /usr. */
export const PROGRAMS: readonly { package: string; path: string }[] = [
  BUSYBOX,
  { package: 'util-linux', path: 'usr/bin/setpriv' }, // takes the firmware's privileges away
  { package: 'util-linux', path: 'sbin/blkdiscard' }, // busybox's cannot write zeros
  { package: 'e2fsprogs', path: 'sbin/mke2fs' },
  { package: 'e2fsprogs', path: 'sbin/e2fsck' },
  { package: 'fdisk', path: 'sbin/sfdisk' }, // grows the data partition to the size of the disk
  { package: 'util-linux', path: 'usr/bin/partx' }, // and tells the kernel
  { package: 'chrony', path: 'usr/sbin/chronyd' }, // asks a time server
]

/** In the initramfs, beside busybox. */
export const DMSETUP = { package: 'dmsetup', path: 'sbin/dmsetup' } // opens the root file system

/** Hardware that restarts a machine that nobody tends, and what makes it known: loaded before everything else. */
export const WATCHDOGS: readonly string[] = [
  'i6300esb', // virtual machines
  'lpc_ich', // Intel's chipsets, of which each says that it has one
  'i2c_i801',
  'iTCO_wdt',
  'sp5100_tco', // AMD's
  'wdat_wdt', // what ACPI describes
  'hpwdt', // management controllers of HPE
  'sbsa_gwdt', // arm64
]
/** The kernel's own, which needs none. */
export const SOFTWARE_WATCHDOG = 'softdog'

/** SHA-256 by the processor's own instructions, for all that is read of the root file system is hashed. */
const SHA256_MODULES: readonly string[] = [
  'sha256_ssse3', // x64; also by AVX2 and SHA-NI, whichever it has
  'sha256_arm64',
  'sha2_ce', // arm64
]

/** By what the kernel asks for before any module is loaded: the hashes of a TPM's banks, for its integrity measurement. */
export const MODULES_ON_REQUEST: Readonly<Record<string, string>> = {
  'crypto-sha384': 'sha512_generic',
  'crypto-sha512': 'sha512_generic',
}

/** Modules that open the root file system, and drivers of disks that exist from the start. Always loaded. */
export const ROOT_MODULES: readonly string[] = [
  'virtio_pci',
  'virtio_mmio',
  'virtio_blk',
  'virtio_scsi',
  'nvme',
  ...SHA256_MODULES,
  'dm_verity',
  'squashfs',
]

/** Further drivers of disks: loaded where none of the disks there is ours, for the devices that the machine has. */
export const DISK_MODULES: readonly string[] = [
  'sd_mod',
  'ahci',
  'xhci_pci',
  'ehci_pci',
  'usb_storage',
  'uas',
  'megaraid_sas', // Broadcom's and Dell's RAID controllers
  'mpt3sas',
  'smartpqi', // Microchip's, of HPE
  'hpsa',
  'vmw_pvscsi',
  'hv_storvsc',
]

/** Modules that the boot manager does not know by name. All are loaded while the root file system is read ahead. */
export const MODULES: readonly string[] = [
  'virtio_net',
  'virtio_rng',
  'crc32c_generic', // ext4 asks for it by what it does, which would take a modprobe of the kernel's
  'ext4',
  'vfat',
  'nls_cp437',
  'nls_ascii',
  'efivarfs',
  'tpm_tis',
  'tpm_crb',
]

/** Drivers of network cards, on the root file system: loaded for the devices that the machine has. */
export const NETWORK_MODULES: readonly string[] = [
  ...['e1000', 'e1000e', 'igb', 'igc', 'ixgbe', 'i40e', 'ice'], // Intel
  ...['tg3', 'bnxt_en', 'bnx2', 'bnx2x'], // Broadcom
  ...['mlx4_en', 'mlx5_core'], // Mellanox
  'r8169', // Realtek
  ...['vmxnet3', 'hv_netvsc', 'ena'], // virtual ones
]

/** Firmware that some of these modules load into their cards. */
export const FIRMWARE_PACKAGES: readonly string[] = [
  'firmware-bnx2',
  'firmware-bnx2x',
  'firmware-misc-nonfree', // ice, tg3
  'firmware-realtek',
]
