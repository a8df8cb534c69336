/** The failure of a request whose login failed: belongs to that request, since others run at the same time. */
export class LoginFailure extends Error {
  override readonly name = "LoginFailure"
  /** What the program is told. */
  readonly error: unknown
  /** The refusal, without its body; one of status 401 where the request was not sent. */
  readonly response: Response

  constructor(error: unknown, refusal?: Response) {
    super(error instanceof Error ? error.message : "The login failed")
    this.error = error
    this.response = new Response(null, { status: refusal?.status ?? 401, headers: refusal?.headers ?? {} })
  }
}

/** The failure among the causes of an error; undefined for an error without. */
export const loginFailureOf = (error: unknown): LoginFailure | undefined => {
  // Bounded, since a chain of causes may be circular.
  let current = error
  for (let depth = 0; depth < 8 && typeof current === "object" && current !== null; depth++) {
    if (current instanceof LoginFailure) return current
    current = "cause" in current ? current.cause : undefined
  }
  return undefined
}
