/** Pages of links, in a script of their own. */

export { JoinPage, PasswordPage } from '../views/link-pages.tsx'
