/** Names and version of the product, as `info`, the banner and the API documents show them. */

import manifest from '../../package.json' with { type: 'json' }

export const PRODUCT = { vendor: 'Coffer', product: 'Coffer', version: manifest.version } as const
