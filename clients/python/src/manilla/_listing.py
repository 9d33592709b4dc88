from __future__ import annotations

from typing import Any, AsyncIterator, Awaitable, Callable, Dict, Generic, Iterator, List, Mapping, Optional, Set
from typing import TypedDict, TypeVar

from ._errors import ManillaError

Item = TypeVar("Item")
Query = Optional[Mapping[str, Any]]


class Page(TypedDict):
    data: List[Any]
    #: Pass it as `cursor` to get the next page. `None`: this is the last one.
    nextCursor: Optional[str]


class Listing(Generic[Item]):
    """A list of any length. `for` reads page after page; `page()` reads one."""

    def __init__(self, read: Callable[[Mapping[str, Any]], Any], query: Query) -> None:
        self._read = read
        self._query = query or {}

    def page(self) -> Page:
        """One page, with the `limit` and `cursor` of the query."""
        page: Page = self._read(self._query)
        return page

    def __iter__(self) -> Iterator[Item]:
        pages = _Pages(self._query)
        while pages.query is not None:
            yield from pages.take(self._read(pages.query))


class AsyncListing(Generic[Item]):
    """A list of any length. `async for` reads page after page; `page()` reads one."""

    def __init__(self, read: Callable[[Mapping[str, Any]], Awaitable[Any]], query: Query) -> None:
        self._read = read
        self._query = query or {}

    async def page(self) -> Page:
        page: Page = await self._read(self._query)
        return page

    async def __aiter__(self) -> AsyncIterator[Item]:
        pages = _Pages(self._query)
        while pages.query is not None:
            for item in pages.take(await self._read(pages.query)):
                yield item


class _Pages:
    """The query of the next page; `None` after the last one."""

    def __init__(self, query: Mapping[str, Any]) -> None:
        self.query: Optional[Dict[str, Any]] = {"limit": 100, **query}
        self._seen: Set[str] = set()

    def take(self, page: Page) -> List[Any]:
        cursor = page.get("nextCursor")
        if cursor in self._seen:
            raise ManillaError(f"The list does not end: its cursor {cursor} comes again.")
        if cursor:
            self._seen.add(cursor)
        self.query = {**(self.query or {}), "cursor": cursor} if cursor else None
        return page["data"]
