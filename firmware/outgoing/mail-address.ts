/** Mail addresses that can stand in a command of SMTP and in a header as they are. */

/** Dot-string `@` domain of RFC 5321 section 4.1.2: no character could end an address or a line. */
export const MAIL_ADDRESS =
  /^[!#-'*+\-/-9=?A-Z^-~]+(?:\.[!#-'*+\-/-9=?A-Z^-~]+)*@[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*$/
