import { Controller, Get, Inject, Query, Res } from '@nestjs/common'
import { Allow, Logger, Permission } from '@vendure/core'
import { ManillaService } from './manilla.service.ts'
import { LOG_CONTEXT, MANILLA_OPTIONS, type ManillaPluginOptions, RETURN_PATH } from './options.ts'

interface Response {
  redirect(status: number, url: string): void
}

@Controller()
export class ManillaController {
  @Inject(ManillaService) private readonly service!: ManillaService
  @Inject(MANILLA_OPTIONS) private readonly options!: ManillaPluginOptions

  /** The address proves nothing: the service asks Manilla about the reference. */
  @Get(RETURN_PATH)
  @Allow(Permission.Public)
  async returnFromPayment(@Query('reference') reference: unknown, @Res() response: Response): Promise<void> {
    const next = await this.service.settleReturn(String(reference)).catch((error: Error) => {
      Logger.error(`Return with ${reference}: ${error.message}`, LOG_CONTEXT, error.stack)
      return this.options.returnUrl
    })
    response.redirect(303, next)
  }
}
