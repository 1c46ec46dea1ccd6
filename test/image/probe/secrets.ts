export const ETCD_SECRET = '/data/etcd/data/probe'

/** Secrets that the firmware must not reach. The probe's boot manager checks that they exist. */
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
