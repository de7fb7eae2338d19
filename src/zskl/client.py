"""A client of `zskl serve`. Needs httpx (extra `client`)."""

import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np

if TYPE_CHECKING:
    import httpx

__all__ = ["Client", "ServiceError"]

PHOTOS = {".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".png": "image/png", ".webp": "image/webp"}


class ServiceError(Exception):
    """What the service answered in place of what was asked.

    Attributes
    ----------
    status : int
        The HTTP status: 404 for a class that is not there, 429 for too many requests, and so on.
    sentence : str
        What is wrong, and what to do.
    request_id : str
        The id of the request in the log of the service.
    """

    def __init__(self, status: int, sentence: str, request_id: str = "") -> None:
        super().__init__(f"{sentence} (status {status}, request {request_id})")
        self.status, self.sentence, self.request_id = status, sentence, request_id


class Client:
    """Asks a service that `zskl serve` started.

    Parameters
    ----------
    url : str, default="http://127.0.0.1:8000"
        The address of the service, with or without `/v1`.
    token : str or None, default=None
        The token of the service; None for that in the environment, `ZSKL_TOKEN`, if there is one.
    timeout : float, default=60.0
        Seconds that an answer may take.
    transport : httpx.BaseTransport or None, default=None
        Another way to send requests, for tests.

    Examples
    --------
    >>> from zskl import Client
    >>> Client("https://birds.example/", token="SECRET")
    Client('https://birds.example/v1')

    With a service at that address, `client.predict(X, top=1)[0]["class"]` is the class of the first row.
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:8000",
        token: str | None = None,
        timeout: float = 60.0,
        transport: "httpx.BaseTransport | None" = None,
    ) -> None:
        try:
            import httpx
        except ImportError:
            raise ImportError("zskl.Client needs the package httpx: pip install 'zskl[client]'") from None
        token = os.environ.get("ZSKL_TOKEN") if token is None else token
        headers = {"authorization": f"Bearer {token}"} if token else {}
        self.url = url.rstrip("/").removesuffix("/v1") + "/v1"
        # a connection that cannot be made is tried again; a request that was sent is not
        transport = httpx.HTTPTransport(retries=2) if transport is None else transport
        self._http = httpx.Client(base_url=self.url, headers=headers, timeout=timeout, transport=transport)

    def __repr__(self) -> str:
        return f"Client({self.url!r})"

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def ask(
        self,
        method: str,
        path: str,
        json: object = None,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> Any:
        """Send any request that `/docs` describes.

        Parameters
        ----------
        method : str
            GET, POST, PUT or DELETE.
        path : str
            The path after `/v1`, such as `/classes`.
        json : object, default=None
            A body to send as JSON.
        content : bytes or None, default=None
            Any other body; say its type in the headers.
        headers : mapping or None, default=None
            Headers, such as `If-Match`.
        params : mapping or None, default=None
            Parameters of the address.

        Returns
        -------
        object
            The JSON of the answer, its text if it is not JSON, or None.
        """
        body: dict[str, Any] = {"json": json} if content is None and json is not None else {"content": content}
        answer = self._http.request(method, path, headers=headers, params=params, **body)
        is_json = answer.headers.get("content-type", "").partition(";")[0] == "application/json"
        found = answer.json() if is_json else answer.text or None
        if answer.is_success:
            return found
        sentence = found.get("error", found) if isinstance(found, dict) else found
        raise ServiceError(answer.status_code, str(sentence), answer.headers.get("x-request-id", ""))

    def classes(self) -> dict[str, str]:
        """All classes.

        Returns
        -------
        dict
            Name → "seen", "unseen" or "added".
        """
        return {one["name"]: one["kind"] for one in self.ask("GET", "/classes")["classes"]}

    def predict(
        self,
        rows: Any = None,
        *,
        texts: Sequence[str] | None = None,
        data_rows: Sequence[int] | None = None,
        photo: str | os.PathLike[str] | None = None,
        top: int = 5,
        candidates: Sequence[str] | None = None,
        explain: bool = False,
        options: Mapping[str, Any] | None = None,
    ) -> list[dict[str, Any]]:
        """Predict the best classes of rows, texts, loaded rows or a photo; give one of these.

        Parameters
        ----------
        rows : array-like of shape (n, d), default=None
            Features. A data frame has its columns found by name.
        texts : sequence of str or None, default=None
            Texts, for a model of texts.
        data_rows : sequence of int or None, default=None
            Numbers of rows that the service has loaded.
        photo : path or None, default=None
            A JPEG, PNG or WebP file.
        top : int, default=5
            How many classes, best first.
        candidates : sequence of str or None, default=None
            The classes to choose from; None for all.
        explain : bool, default=False
            Whether to say why.
        options : mapping or None, default=None
            Further options of `POST /v1/predict`.

        Returns
        -------
        list of dict
            For each row its `class`, `top` with scores and probabilities, and what else was asked for.
        """
        given = {"top": top, "explain": explain, **(options or {})}
        given |= {} if candidates is None else {"candidates": list(candidates)}
        if sum(one is not None for one in (rows, texts, data_rows, photo)) != 1:
            raise ValueError("rows, texts, data_rows, photo: expected one of them; leave the others out")
        if rows is not None and not hasattr(rows, "columns"):
            np.save(file := io.BytesIO(), np.asarray(rows, np.float32), allow_pickle=False)
            header = {"content-type": "application/x-npy"}
            answer = self.ask("POST", "/predict", content=file.getvalue(), headers=header, params=given)
        else:
            if rows is not None:
                given |= {"rows": np.asarray(rows, float).tolist(), "columns": [str(one) for one in rows.columns]}
            given |= {} if texts is None else {"texts": list(texts)}
            given |= {} if data_rows is None else {"data_rows": [int(one) for one in data_rows]}
            answer = self._send("/predict", given, photo)
        found: list[dict[str, Any]] = answer["predictions"]
        return found

    def add_class(
        self, name: str, attributes: Mapping[str, float] | None = None, sentence: str | None = None
    ) -> dict[str, Any]:
        """Add a class, or replace its whole description.

        Parameters
        ----------
        name : str
            The name of the class.
        attributes : mapping or None, default=None
            Attribute → value; those left out become the mean of the seen classes.
        sentence : str or None, default=None
            A sentence in place of attributes, where the model was made from sentences.

        Returns
        -------
        dict
            The name, the attributes that were `defaulted`, and the `version`.
        """
        body = {"attributes": attributes} if sentence is None else {"sentence": sentence}
        found: dict[str, Any] = self.ask("PUT", f"/classes/{quote(name, safe='')}", json=body)
        return found

    def delete_class(self, name: str) -> None:
        """Forget an added class.

        Parameters
        ----------
        name : str
            The name of the class.
        """
        self.ask("DELETE", f"/classes/{quote(name, safe='')}")

    def teach(
        self,
        name: str,
        *,
        row: int | None = None,
        features: Sequence[float] | None = None,
        text: str | None = None,
        photo: str | os.PathLike[str] | None = None,
        right: bool = True,
    ) -> dict[str, Any]:
        """Say that a row is of a class, or is not; give one row.

        Parameters
        ----------
        name : str
            The name of the class.
        row : int or None, default=None
            The number of a row that the service has loaded.
        features : sequence of float or None, default=None
            The features of a row.
        text : str or None, default=None
            A text, for a model of texts.
        photo : path or None, default=None
            A JPEG, PNG or WebP file.
        right : bool, default=True
            False if it is not of the class.

        Returns
        -------
        dict
            Its `id`, to take it back, and the `version`.
        """
        given = {"row": row, "features": features if features is None else np.asarray(features, float).tolist()}
        body = {key: one for key, one in {**given, "text": text, "right": right}.items() if one is not None}
        found: dict[str, Any] = self._send(f"/classes/{quote(name, safe='')}/examples", body, photo)
        return found

    def _send(self, path: str, body: dict[str, Any], photo: str | os.PathLike[str] | None) -> Any:
        """A JSON body; or a photo with the same as parameters."""
        if photo is None:
            return self.ask("POST", path, json=body)
        kind = PHOTOS.get(Path(photo).suffix.lower())
        if kind is None:
            raise ValueError(f"photo is {str(photo)!r}: expected a file that ends in {', '.join(PHOTOS)}")
        return self.ask("POST", path, content=Path(photo).read_bytes(), headers={"content-type": kind}, params=body)
