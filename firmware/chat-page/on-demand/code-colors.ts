/** Colors of code, in a script of their own. */

export { colorCode } from '../message/code-colors.ts'
