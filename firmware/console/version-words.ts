export const versions = 'Versions'
export const text =
  'Programs of the transit API encrypt and sign with the newest version. All others use version 1 of a key.'
export const version = (number: number) => `Version ${number}`
export const newest = 'newest'
export const usable = 'in use'
export const open = 'decrypts and verifies only'
export const retired = 'retired'
export const add = 'Add a version'
export const addText = 'The transit API uses the new version from now on. Version 1 stays as it is.'
export const adding = 'Adding a version…'
export const lowest = 'Lowest version in use'
export const retire = 'Retire lower versions'
export const badNumber = 'A version is a number from 1.'
export const deleteRetired = 'Delete retired versions'
export const deleteText = (last: number) =>
  `${last === 1 ? 'Version 1 is' : `Versions 1 to ${last} are`} deleted permanently. Only a backup brings them back. The key then has no version 1: this page does not show it any more, and only the transit API uses it.`
