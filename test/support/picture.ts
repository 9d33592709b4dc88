/** A real picture, eight green pixels square. */
export const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEUlEQVR42mPgzvPHihiGlgQAeOUyAWxdOPsAAAAASUVORK5CYII=',
  'base64',
)
