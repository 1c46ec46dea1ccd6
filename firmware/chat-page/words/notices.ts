/** Words of notifications in the language of the browser, for the service worker. Member by member, so that its bundle has no others. */

import * as de from './de.ts'
import * as en from './en.ts'

export const noticeWords = () =>
  /^de\b/i.test(navigator.language)
    ? {
        product: de.product,
        newMessage: de.newMessage,
        openToRead: de.openToRead,
        newDirectMessage: de.newDirectMessage,
        pushTested: de.pushTested,
      }
    : {
        product: en.product,
        newMessage: en.newMessage,
        openToRead: en.openToRead,
        newDirectMessage: en.newDirectMessage,
        pushTested: en.pushTested,
      }
