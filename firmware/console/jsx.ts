/** What elements become in the bundle: `tools/build-console.ts` puts it before every file. */

export { createElement, Fragment } from 'preact'
