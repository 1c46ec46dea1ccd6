/** Groups of the emoji picker, in a script of their own. */

import data from '../emoji-groups.json' with { type: 'json' }

export const { groups } = data
