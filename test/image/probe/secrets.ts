export const ETCD_SECRET = '/data/etcd/data/probe'

/** What the firmware must not get at, and is there: the boot manager of the probe looks. */
export const SECRETS = [
  `/efi/EFI/BOOT/${process.arch === 'arm64' ? 'BOOTAA64' : 'BOOTX64'}.EFI`,
  '/dev/tpm0',
  '/dev/tpmrm0',
  '/dev/vda',
  '/dev/vda3',
  '/dev/vda4',
  '/dev/mem',
  '/data/slots.json',
  '/data/device.tpm',
  ETCD_SECRET,
  '/proc/1/environ',
]

/** Where nobody but root makes a file. */
export const FOREIGN = ['/tmp', '/data', '/run', '/dev/shm', '/efi', '/app', ''].map((place) => `${place}/coffer-probe`)
