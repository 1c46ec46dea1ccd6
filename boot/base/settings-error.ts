/** Describes an invalid setting, or a problem with the file or address that it names, for the terminal. */
export class SettingsError extends Error {}
