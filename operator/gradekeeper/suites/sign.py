"""The author's signature on a suite: bundle, both images, index, limits and resources at once."""

from gradekeeper.api.spec import SuiteLimits, SuiteResources
from gradekeeper.suites.bundle import Bundle
from gradekeeper.verdicts.signing import SigningKey
from gradekeeper.verdicts.statement import build_suite_statement, encode_statement


def sign_suite(
    bundle: Bundle, *, image_digest: str, lane_image_digest: str, key: SigningKey
) -> bytes:
    """Sign a bundle and the images that it is graded with.

    Args:
        bundle: The built bundle.
        image_digest: Of the suite image that contains the bundle, `sha256:<hex>`.
        lane_image_digest: Of the lane image, `sha256:<hex>`.
        key: The author's.

    Returns:
        The DSSE envelope; base64 of it is `spec.signature`.
    """
    statement = build_suite_statement(
        name=bundle.name,
        suite_digest=bundle.digest,
        version=bundle.version,
        image_digest=image_digest,
        lane_image_digest=lane_image_digest,
        index_digest=bundle.index_digest,
        limits=SuiteLimits.model_validate(bundle.definition["limits"]),
        resources=SuiteResources.model_validate(bundle.definition["resources"]),
    )
    return key.sign(encode_statement(statement))
