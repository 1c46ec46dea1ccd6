/** What elements become in the bundle: `tools/build-console.ts` injects this module into every file. */

export { createElement, Fragment } from 'preact'
