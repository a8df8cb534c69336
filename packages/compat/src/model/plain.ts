/** Converts a value to plain JSON and back, which drops undefined members. The caller chooses the type. */
export const plain = <A>(value: unknown): A => JSON.parse(JSON.stringify(value))
