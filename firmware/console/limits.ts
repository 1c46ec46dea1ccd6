/** Limits of the API that the console checks before it sends a request: contract sections 1.2 and 4.1. */

export const PASSPHRASE_BYTES_MIN = 10
export const PASSPHRASE_BYTES_MAX = 200
export const LABEL_BYTES_MAX = 32
export const ID = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/
export const USER_ID = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}(~[A-Za-z0-9][A-Za-z0-9_.-]{0,127})?$/
