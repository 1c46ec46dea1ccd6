export const SYSTEM_TIME = '2031-02-03T04:05:06Z'
export const ED25519 = {
  type: 'Curve25519',
  mechanisms: ['EdDSA_Signature'],
  private: { data: Buffer.alloc(32, 7).toString('base64') },
}
export const AES = {
  type: 'Generic',
  mechanisms: ['AES_Encryption_CBC', 'AES_Decryption_CBC'],
  private: { data: Buffer.alloc(16, 7).toString('base64') },
}
export const BLOCK = Buffer.alloc(16).toString('base64')
export const NEW_USER = { realName: 'n', role: 'Operator', passphrase: 'passphrase of new' }
