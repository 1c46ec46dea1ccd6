/** Commands that repeat an action of the page in a shell. Ids and user names need no quoting: contract section 1.2. */

import { opensslVerify, type SignMode } from '../../client/signatures.ts'

/** Signs the file `document` with curl, which asks for the passphrase. */
export function curlSign(origin: string, user: string, id: string, { mode, hash }: SignMode): string {
  const message =
    hash === null
      ? 'base64 --wrap=0 document'
      : `openssl dgst -${hash.toLowerCase()} -binary document | base64 --wrap=0`
  return [
    `message=$(${message})`,
    `echo '{"mode": "${mode}", "message": "'$message'"}' \\`,
    `  | curl --insecure --silent --show-error --fail-with-body --user '${user}' \\`,
    `      --header 'content-type: application/json' --data @- ${origin}/api/v1/keys/${id}/sign \\`,
    `  | sed --regexp-extended 's/.*"signature":"([^"]*)".*/\\1/' | base64 --decode > document.sig`,
  ].join('\n')
}

/** The same with the CLI, which asks the user to confirm the appliance's TLS key and to type the passphrase. */
export const cofferSign = (origin: string, user: string, id: string, { mode }: SignMode): string =>
  `coffer connect ${origin}\ncoffer sign ${id} document --user '${user}' --mode ${mode} --output document.sig`

/** Verifies `document.sig` with OpenSSL; null for modes that OpenSSL cannot verify. */
export function opensslVerification(pem: string, mode: SignMode): string | null {
  const verify = opensslVerify(mode)
  return verify === null ? null : `cat > public.pem <<'END'\n${pem.trim()}\nEND\n${verify}`
}
