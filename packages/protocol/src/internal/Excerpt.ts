/** How much of the other side's text is repeated in an error or a log line. */

/** The longest excerpt, in characters. */
export const maxLength = 200

/** The text, cut where it is longer than an excerpt may be. */
export const excerpt = (text: string): string => (text.length <= maxLength ? text : `${text.slice(0, maxLength)}…`)
