/** Commands that use an access key in a shell. They verify the certificate, since the server gets the token. A token has no quote. */

const certificate = (variable: string): string[] => [
  "# Only if this computer does not trust the appliance's certificate. A root Administrator gets the file from /config/tls/cert.pem:",
  `# export ${variable}=coffer.pem`,
]

/** Lets the command bao and programs for OpenBao use the transit API. */
export const baoAccess = (origin: string, token: string): string =>
  [`export BAO_ADDR=${origin}`, ...certificate('BAO_CACERT'), `export BAO_TOKEN='${token}'`, 'bao token lookup'].join(
    '\n',
  )

/** Encrypts a file with a key of the transit API. */
export const sopsAccess = (origin: string, token: string): string =>
  [
    ...certificate('VAULT_CACERT'),
    `export VAULT_TOKEN='${token}'`,
    '# Another key than sops: change the last part of the address.',
    `sops encrypt --hc-vault-transit '${origin}/v1/transit/keys/sops' plain.yaml > encrypted.yaml`,
    'sops decrypt encrypted.yaml',
  ].join('\n')
