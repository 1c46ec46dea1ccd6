/** Identifiers of algorithms that every TPM for PCs has. TPM 2.0 Library Part 2, 6.3 and 6.4. */

export const AES = 0x0006
export const KEYED_HASH = 0x0008
export const SHA256 = 0x000b
export const NULL = 0x0010
export const ECC = 0x0023
export const CFB = 0x0043
export const P256 = 0x0003

export const AES_KEY_BITS = 128
export const AES_KEY_BYTES = AES_KEY_BITS / 8
export const SHA256_BYTES = 32
export const P256_BYTES = 32
