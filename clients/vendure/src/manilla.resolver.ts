import { Inject } from '@nestjs/common'
import { Mutation, Resolver } from '@nestjs/graphql'
import { Allow, Ctx, Permission, type RequestContext } from '@vendure/core'
import { ManillaService } from './manilla.service.ts'

@Resolver()
export class ManillaResolver {
  @Inject(ManillaService) private readonly service!: ManillaService

  @Mutation()
  @Allow(Permission.Owner)
  createManillaCheckout(@Ctx() ctx: RequestContext): Promise<string> {
    return this.service.createCheckout(ctx)
  }
}
