/**
 * The ids of all advisory locks. Arbitrary, and different: the embedded server holds its own for as long as it runs.
 */
export const ADVISORY_LOCKS = {
  migrations: 6_264_552,
  embeddedOwner: 6_264_553,
  retention: 6_264_554,
  analyze: 6_264_555,
} as const
